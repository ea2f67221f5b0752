package symptoms

// says returns a line of a program, by its texts.
func says(program, name, source string, texts ...string) Line {
	return Line{Name: name, Program: program, Source: source, All: texts}
}

// maybe returns a possible cause.
func maybe(weight Weight, slug, title, decide, remedy string, clues ...Clue) Cause {
	return Cause{Slug: slug, Title: title, Weight: weight, Clues: clues, Decide: decide, Remedy: remedy}
}

// onLine returns a clue by the name of a line of the symptom.
func onLine(weight Weight, name, text string) Clue {
	return Clue{Weight: weight, Line: name, Text: text}
}

// onText returns a clue by a text in a line of the symptom.
func onText(weight Weight, contains, text string) Clue {
	return Clue{Weight: weight, Contains: contains, Text: text}
}

// onErrno returns a clue by the error number of a line.
func onErrno(weight Weight, text string, numbers ...string) Clue {
	return Clue{Weight: weight, Field: "errno", Is: numbers, Text: text}
}

// onSeen returns strong evidence by a line of another symptom, or an event of a kind.
func onSeen(seen, text string) Clue {
	return Clue{Weight: Strong, Seen: seen, Text: text}
}
