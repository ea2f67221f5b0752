// Package output formats all output of rdmactl.
//
// The rules:
//
//   - data goes to standard output, notes, progress and logs to standard error;
//   - the format is table, wide, json or yaml, and json and yaml hold the same value in the
//     same order;
//   - colours and cursor movements reach terminals only; NO_COLOR and TERM=dumb switch colours off;
//   - text from untrusted sources (node descriptions come from the network) can't control the
//     terminal: control characters, escape sequences and invisible formatting characters are shown
//     as escapes;
//   - on a terminal text fits the screen: tables leave out columns and name them, and sentences are
//     wrapped; commands, paths and names stay in one piece. In a pipe and with -o wide nothing is
//     left out or wrapped;
//   - an empty table cell shows "-", and no line ends in spaces, so that awk and diff can process
//     the output.
//
// A command passes a value and the blocks of its text form:
//
//	ports := output.Table{
//		Columns: []output.Column{{Name: "port"}, {Name: "state"}, {Name: "guid", Wide: true}},
//		Rows:    [][]output.Cell{{output.Plain("mlx5_0/1"), output.Good("active"), output.Plain(guid)}},
//	}
//	return app.Out.Print(report, ports)
//
// A [Printer] may be used by several goroutines at a time. The package has no global state:
// streams, environment and clock are fields of [Options]. It uses charmbracelet/x/ansi and not
// lipgloss, which is built on it, because lipgloss runs `tmux info` and reads the terminfo files
// before main starts.
package output
