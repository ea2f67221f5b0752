// Command gendocs generates the command reference from the commands, and the schemas of their
// output from the Go types:
//
//	go run ./internal/cli/gendocs docs     # docs/cli/*.md, docs/man/*.1, docs/schema/*.json, docs/demo*.svg
//
// Pages of removed commands and documents are deleted. The output depends only on the source, so
// that CI can compare it with the committed pages. gendocs must run inside the module, because the
// descriptions in the schemas are comments of the source.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/commands"
	"github.com/rdmakit/rdmakit/internal/cli/self"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

func main() {
	args, do := os.Args[1:], generate
	if len(args) == 2 && args[0] == "-record" {
		args, do = args[1:], record
	}
	if len(args) != 1 {
		fmt.Fprintln(os.Stderr, "usage: gendocs DIR\n       gendocs -record FILE")
		os.Exit(2)
	}
	if err := do(args[0]); err != nil {
		fmt.Fprintln(os.Stderr, "gendocs:", err)
		os.Exit(1)
	}
}

func generate(dir string) error {
	pages, err := schemaPages(dir)
	if err != nil {
		return err
	}
	for name, draw := range map[string]func() ([]byte, error){
		"demo.svg": clusterPicture, "demo-node.svg": nodePicture,
	} {
		if pages[filepath.Join(dir, name)], err = draw(); err != nil {
			return err
		}
	}
	for _, cmd := range self.Reference(cli.NewApp(commands.All()).Root()) {
		man, err := self.ManPage(cmd)
		if err != nil {
			return err
		}
		markdown, err := markdownPage(cmd)
		if err != nil {
			return err
		}
		name := self.PageName(cmd)
		pages[filepath.Join(dir, "man", name+".1")] = man
		pages[filepath.Join(dir, "cli", name+".md")] = markdown
	}
	for _, pattern := range []string{"man/*.1", "cli/*.md", "schema/*.json"} {
		if err := removeStale(filepath.Join(dir, filepath.FromSlash(pattern)), pages); err != nil {
			return err
		}
	}
	for file, page := range pages {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, page, 0o644); err != nil { //nolint:gosec // documentation is for everyone
			return err
		}
	}
	return nil
}

func markdownPage(cmd *cobra.Command) ([]byte, error) {
	var buf bytes.Buffer
	pages := map[string]string{} // by cobra's names: "rdmactl_config_show.md"
	for _, c := range self.Reference(cmd.Root()) {
		pages[strings.ReplaceAll(c.CommandPath(), " ", "_")+".md"] = self.PageName(c) + ".md"
	}
	link := func(name string) string { return pages[name] }
	if err := doc.GenMarkdownCustom(cmd, &buf, link); err != nil {
		return nil, fmt.Errorf("page of %s: %w", cmd.CommandPath(), err)
	}
	note := "<!-- Written by internal/cli/gendocs from the command itself: change it there. -->\n\n"
	page := note + strings.TrimRight(buf.String(), "\n") + "\n"
	page = strings.ReplaceAll(page, "\t - ", " - ") // in cobra's lists of pages
	return []byte(prose.WrapMarkdown(page, prose.PageWidth)), nil
}

func removeStale(pattern string, pages map[string][]byte) error {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	for _, file := range files {
		if pages[file] != nil {
			continue
		}
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}
