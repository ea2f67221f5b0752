package fabric

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"time"
)

// fileError describes an error in terms of the file; the cause may describe it in terms of Go.
type fileError struct {
	text  string
	cause error
}

func (e *fileError) Error() string { return e.text }
func (e *fileError) Unwrap() error { return e.cause }

// inFileWords rewrites the JSON decoder's errors, which name Go types, in terms of the file.
func inFileWords(err error) error {
	if err == nil {
		return nil
	}
	if text := fileWords(err); text != "" {
		return &fileError{text, err}
	}
	return err
}

// fileWords returns "" for an error that needs no rewriting.
func fileWords(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the file is truncated"
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return "not JSON: " + e.Error()
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		text := fmt.Sprintf("%s where %s is expected", strings.Replace(e.Value, "bool", "true or false", 1),
			typeWord(e.Type))
		if e.Field != "" {
			text = e.Field + ": " + text
		}
		return text
	}
	if e, ok := errors.AsType[base64.CorruptInputError](err); ok {
		return fmt.Sprintf("invalid base64 at byte %d", int64(e))
	}
	if e, ok := errors.AsType[*time.ParseError](err); ok {
		return e.Value + " is not a time such as 2026-01-02T15:04:05Z"
	}
	if strings.HasPrefix(err.Error(), "Time.") { // the error of a number or the like has no type
		return "not a time such as 2026-01-02T15:04:05Z"
	}
	return ""
}

// tokenWord returns a token as it is written in the file.
func tokenWord(token json.Token) string {
	if delim, ok := token.(json.Delim); ok {
		return delim.String()
	}
	text, err := json.Marshal(token)
	if err != nil {
		return "something else"
	}
	return fmt.Sprintf("%.60s", text)
}

// typeWord describes the JSON value of a field of that type.
func typeWord(t reflect.Type) string {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return "a string"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeWord(t.Elem())
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		return fmt.Sprintf("a number from 0 to %d", uint64(math.MaxUint64)>>(64-t.Bits()))
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a string of base64"
		}
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	default:
		return "a string"
	}
}
