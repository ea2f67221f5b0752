// Package output is the one place that decides what rdmactl prints, where and how.
//
// The rules:
//
//   - data goes to standard output, notes, progress and logs to standard error;
//   - the format is table, wide, json or yaml, and json and yaml hold the same value in the
//     same order;
//   - colours and cursor movements reach terminals only; NO_COLOR and TERM=dumb switch colours off;
//   - text that comes from outside (node descriptions come from the network) can't drive the
//     terminal: control characters, escape sequences and invisible formatting characters are shown
//     as escapes;
//   - on a terminal text fits the screen: tables leave out columns and say which, and sentences are
//     broken at blanks; commands, paths and names stay in one piece. In a pipe and with -o wide
//     nothing is left out or broken for it;
//   - an empty table cell shows "-", and no line ends in spaces, so that awk and diff work on
//     a pipe.
//
// A command builds a value and the blocks that show it to people, and hands over both:
//
//	ports := output.Table{
//		Columns: []output.Column{{Name: "port"}, {Name: "state"}, {Name: "guid", Wide: true}},
//		Rows:    [][]output.Cell{{output.Plain("mlx5_0/1"), output.Good("active"), output.Plain(guid)}},
//	}
//	return app.Out.Print(report, ports)
//
// A [Printer] may be used by several goroutines at a time. The package draws on nothing global:
// streams, environment and clock are fields of [Options]. It styles with charmbracelet/x/ansi
// rather than with lipgloss, which sits on it: lipgloss asks `tmux info` and the terminfo files
// before main starts, for every command.
package output
