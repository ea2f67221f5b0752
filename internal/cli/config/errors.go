package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Error is an error in a setting.
type Error struct {
	// Source is where the setting is: file:line, a variable, or a flag.
	Source string
	// Key is the setting, or the unknown key; empty if the error is about the whole file.
	Key string
	// Value is the value that was set.
	Value string
	// Reason describes the error, such as "is not one of RC, UC, UD".
	Reason string
	// Near is the known key that is most similar to an unknown one.
	Near string
	// Hint is another thing to try.
	Hint string

	wrong bool // Reason is about Value
}

// Error implements error: "config.yaml:3: mtu: "1500" is not one of 256, 512, …".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Source + ": ")
	switch {
	case e.wrong && strings.HasPrefix(e.Source, "--"):
		fmt.Fprintf(&b, "%s ", strconv.Quote(e.Value))
	case e.wrong:
		fmt.Fprintf(&b, "%s: %s ", e.Key, strconv.Quote(e.Value))
	case e.Reason == "unknown key":
		return b.String() + "unknown key " + strconv.Quote(e.Key)
	case e.Key != "":
		b.WriteString(e.Key + ": ")
	}
	return b.String() + e.Reason
}

// Hints returns suggestions to fix the error.
func (e *Error) Hints() []string {
	var hints []string
	if e.Near != "" {
		hints = append(hints, "did you mean "+strconv.Quote(e.Near)+"?")
	}
	if e.Hint != "" {
		hints = append(hints, e.Hint)
	}
	return hints
}

// wrongValue returns an *Error for reason, nil if there is none.
func wrongValue(reason error, source, key, value string) error {
	if reason == nil {
		return nil
	}
	return &Error{Source: source, Key: key, Value: value, Reason: reason.Error(), wrong: true}
}
