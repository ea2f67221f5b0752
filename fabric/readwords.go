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

// fileError says what is wrong with a file in the file's words; the cause may say it in Go's.
type fileError struct {
	text  string
	cause error
}

func (e *fileError) Error() string { return e.text }
func (e *fileError) Unwrap() error { return e.cause }

// inFileWords puts what the JSON decoder says of Go's types into words of the file.
func inFileWords(err error) error {
	if err == nil {
		return nil
	}
	if text := fileWords(err); text != "" {
		return &fileError{text, err}
	}
	return err
}

// fileWords is empty for an error whose own words will do.
func fileWords(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the file ends in the middle"
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
		return fmt.Sprintf("not base64 from byte %d on", int64(e))
	}
	if e, ok := errors.AsType[*time.ParseError](err); ok {
		return e.Value + " is no time such as 2026-01-02T15:04:05Z"
	}
	if strings.HasPrefix(err.Error(), "Time.") { // the error of a number or the like has no type
		return "no time such as 2026-01-02T15:04:05Z"
	}
	return ""
}

// tokenWord returns a token as the file has it.
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

// typeWord says what JSON a field of that type has.
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
