package lint

import "strings"

// word is a word of a shell line, without its quotes.
type word struct {
	text    string
	unknown bool // it has an expansion
	quoted  bool
}

// parseShell returns the assignments in a shell script: NAME=value, with or without a preceding
// export or a following command, and those in options for another program (mpirun -x NAME=value,
// docker run -e NAME=value). It does not run the script: a value with an expansion is unknown, and
// branches are not distinguished.
func parseShell(text string) []Setting {
	var out []Setting
	lines := strings.Split(text, "\n")
	end := "" // of a here-document
	for i := 0; i < len(lines); i++ {
		number := i + 1
		line := strings.TrimSuffix(lines[i], "\r")
		if end != "" {
			if strings.TrimSpace(line) == end {
				end = ""
			}
			continue
		}
		var joined strings.Builder // one string for all: a file may be one continued line
		for continued(line) && i+1 < len(lines) {
			joined.WriteString(strings.TrimSuffix(line, `\`))
			i++
			line = strings.TrimSuffix(lines[i], "\r")
		}
		if joined.Len() > 0 {
			joined.WriteString(line)
			line = joined.String()
		}
		for openQuote(line) && i+1 < len(lines) && i-number < 100 {
			i++
			line += "\n" + lines[i]
		}
		end = hereDocument(line)
		for _, s := range assignments(shellWords(line)) {
			s.Line = number
			out = append(out, s)
		}
	}
	return out
}

// continued reports whether a line continues on the next: it ends in an odd number of backslashes.
func continued(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// openQuote reports whether a quote doesn't end on the line.
func openQuote(line string) bool {
	_, open := splitWords(line)
	return open
}

// hereDocument returns the word that ends the here-document that begins on a line.
func hereDocument(line string) string {
	i := hereOperator(line)
	if i < 0 {
		return ""
	}
	rest := strings.TrimLeft(strings.TrimPrefix(line[i+2:], "-"), " \t")
	words := shellWords(rest)
	if len(words) == 0 || !words[0].quoted && !isName(words[0].text) {
		return ""
	}
	return words[0].text
}

// hereOperator returns the index of the << of a here-document, or -1. It ignores << in quotes and
// comments, and in (( )), where it is a shift.
func hereOperator(line string) int {
	arithmetic := 0
	for i := 0; i < len(line); i++ {
		rest := line[i:]
		switch {
		case rest[0] == '\\':
			i++
		case rest[0] == '\'':
			end := strings.IndexByte(rest[1:], '\'')
			if end < 0 {
				return -1
			}
			i += end + 1
		case rest[0] == '"':
			n, _, ok := doubleQuoted(rest[1:], &strings.Builder{})
			if !ok {
				return -1
			}
			i += n
		case rest[0] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
			return -1
		case strings.HasPrefix(rest, "(("):
			arithmetic++
			i++
		case strings.HasPrefix(rest, "))") && arithmetic > 0:
			arithmetic--
			i++
		case strings.HasPrefix(rest, "<<<"):
			i += 2
		case strings.HasPrefix(rest, "<<") && arithmetic == 0:
			return i
		}
	}
	return -1
}

// shellWords splits a line like a shell; ; & | and parentheses are separate words.
func shellWords(line string) []word {
	words, _ := splitWords(line)
	return words
}

func splitWords(line string) (words []word, open bool) {
	var cur word
	var text strings.Builder
	inside := false
	flush := func() {
		if inside {
			cur.text = text.String()
			words = append(words, cur)
		}
		cur, inside = word{}, false
		text.Reset()
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return words, true
			}
			text.WriteString(line[i+1 : i+1+end])
			i += end + 1
			inside, cur.quoted = true, true
		case c == '"':
			n, unknown, ok := doubleQuoted(line[i+1:], &text)
			if !ok {
				return words, true
			}
			i += n
			inside, cur.quoted = true, true
			cur.unknown = cur.unknown || unknown
		case c == '\\' && i+1 < len(line):
			i++
			text.WriteByte(line[i])
			inside = true
		case c == '#' && !inside:
			return words, false
		case c == ' ' || c == '\t' || c == '\n':
			flush()
		case strings.IndexByte(";&|()", c) >= 0 && !cur.unknown:
			flush()
			words = append(words, word{text: string(c)})
		default:
			cur.unknown = cur.unknown || c == '$' || c == '`'
			text.WriteByte(c)
			inside = true
		}
	}
	flush()
	return words, false
}

// doubleQuoted reads up to the closing quote and returns the number of bytes read.
func doubleQuoted(s string, text *strings.Builder) (n int, unknown, ok bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return i + 1, unknown, true
		case c == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0:
			i++
			text.WriteByte(s[i])
		default:
			unknown = unknown || c == '$' || c == '`'
			text.WriteByte(c)
		}
	}
	return 0, unknown, false
}

// assignments returns the settings in the words of a line.
func assignments(words []word) []Setting {
	var out []Setting
	start := true // of a command
	option := false
	for _, w := range words {
		name, value, ok := strings.Cut(w.text, "=")
		isOption := w.text == "-x" || w.text == "-e" || w.text == "--env" || w.text == "-env" ||
			w.text == "--export-env"
		if rest, found := strings.CutPrefix(w.text, "--env="); found && !start {
			name, value, ok = strings.Cut(rest, "=")
			option = true
		}
		switch {
		case !w.quoted && len(w.text) == 1 && strings.IndexByte(";&|()", w.text[0]) >= 0:
			start = true
			continue
		case ok && isName(name) && (start || option):
			out = append(out, Setting{Name: name, Value: value, Unknown: w.unknown})
		case start && introduces(w.text):
			continue // assignments may follow
		default:
			start = false
		}
		option = isOption
	}
	return out
}

// introduces reports whether a word can precede assignments or commands.
func introduces(w string) bool {
	switch w {
	case "export", "declare", "typeset", "local", "readonly", "env", "sudo", "exec", "then", "do", "else", "{", "-x",
		"-gx", "-E", "-", "time", "nohup", "ENV":
		return true
	}
	return false
}
