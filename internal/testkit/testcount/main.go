// Command testcount reads the event stream of `go test -json` on standard input and prints a
// summary: one line per package, the full output of failed tests, the reason of each skipped test,
// and as the last line
//
//	N passed, N failed, N skipped
//
// It counts leaves: of a test with subtests only the subtests are counted. A package that failed
// without a failing test (it did not build, TestMain exited, it crashed) is counted as one failure,
// and so is one for which the stream has no end.
//
//	go test -json ./... | testcount -o counts.tsv -name test
//
// -o appends "name<TAB>passed<TAB>failed<TAB>skipped" to a file, from which a caller can add up
// several runs. Exit status: 0 if tests ran and none failed; 1 if a test failed or no test ran; 2
// for wrong usage or an unreadable stream.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("testcount", flag.ContinueOnError)
	flags.SetOutput(stderr)
	file := flags.String("o", "", "append the counts to this `file`, tab-separated")
	name := flags.String("name", "test", "the first `column` of the line that -o appends")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	t := newTally(stdout)
	if err := t.read(stdin); err != nil {
		fmt.Fprintf(stderr, "testcount: %v\n", err)
		return 2
	}
	total, err := t.finish()
	if err != nil {
		fmt.Fprintf(stderr, "testcount: %v\n", err)
		return 2
	}
	if *file != "" {
		if err := appendCounts(*file, *name, total); err != nil {
			fmt.Fprintf(stderr, "testcount: %v\n", err)
			return 2
		}
	}
	if total.passed+total.failed == 0 {
		fmt.Fprintln(stderr, "testcount: no test ran")
		return 1
	}
	if total.failed > 0 {
		return 1
	}
	return 0
}

// appendCounts appends a line for the run with the given name to file, which it creates if
// necessary.
func appendCounts(file, name string, c counts) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(f, "%s\t%d\t%d\t%d\n", name, c.passed, c.failed, c.skipped); err != nil {
		return errors.Join(fmt.Errorf("append to %s: %w", file, err), f.Close())
	}
	return f.Close()
}
