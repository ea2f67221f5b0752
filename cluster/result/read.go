package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Limits of a document. A full verification of 10,000 nodes with 8 cards has 10 million samples and
// 1.5 GB. The limits on elements keep the memory for a hostile document proportional to its size.
const (
	MaxBytes   = 4 << 30 // of a document
	MaxSamples = 1 << 25 // of a run

	maxElement = 64 << 20 // bytes of an element of a list, or of a field that is none: the cluster
	maxList    = 1 << 17  // elements of the other lists
)

var (
	errLong = fmt.Errorf("an element of more than %d bytes", maxElement)
	errSize = fmt.Errorf("a document of more than %d bytes", int64(MaxBytes))
)

// Read reads a run that [Run.Write] wrote: one JSON document and nothing after it. The run has
// passed [Run.Check], so none of its indices is out of range. Errors name the field, the element
// and its offset in bytes, and match [ErrSchema] for a document of another version. Unknown fields
// are ignored. A document may have up to [MaxBytes] and [MaxSamples].
func Read(r io.Reader) (*Run, error) {
	in := reader{limit: limitedReader{r: r, element: maxElement, total: MaxBytes}}
	in.decoder = json.NewDecoder(&in.limit)
	run := &Run{}
	if err := in.run(run); err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	if err := run.Check(); err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	return run, nil
}

// limitedReader fails once more bytes were read than an element or the document may have.
type limitedReader struct {
	r              io.Reader
	element, total int64
}

func (l *limitedReader) Read(b []byte) (int, error) {
	switch {
	case l.total <= 0:
		return 0, errSize
	case l.element <= 0:
		return 0, errLong
	}
	n, err := l.r.Read(b[:min(int64(len(b)), l.element, l.total)])
	l.element -= int64(n)
	l.total -= int64(n)
	return n, err
}

// reader reads a document field by field, and lists element by element, so that the text of a large
// one is never in memory as a whole.
type reader struct {
	limit   limitedReader
	decoder *json.Decoder
}

func (in *reader) run(run *Run) error {
	if err := in.delim('{'); err != nil {
		return err
	}
	fields, seen := fieldsOf(run), map[string]bool{}
	for in.decoder.More() {
		at := in.decoder.InputOffset()
		token, err := in.decoder.Token()
		if err != nil {
			return in.at(at, err)
		}
		name := fmt.Sprint(token) // the decoder accepts only strings here
		field, known := fields[name]
		switch {
		case seen[name]:
			err = fmt.Errorf("duplicate field at byte %d", at)
		case !known:
			var ignored json.RawMessage
			err = in.decode(&ignored)
		case field.Kind() == reflect.Slice:
			err = in.list(field)
		default:
			err = in.decode(field.Addr().Interface())
		}
		if err != nil {
			return fmt.Errorf("%.40s: %w", name, err)
		}
		seen[name] = known
		if name == "schema" && run.Schema != Schema {
			return fmt.Errorf("%w: %.60q", ErrSchema, run.Schema)
		}
	}
	if err := in.delim('}'); err != nil {
		return err
	}
	if at := in.decoder.InputOffset(); in.more() {
		return fmt.Errorf("more data after the document, at byte %d", at)
	}
	return nil
}

// more reports whether anything but space follows.
func (in *reader) more() bool {
	_, err := in.decoder.Token()
	return !errors.Is(err, io.EOF)
}

// list reads a list into a slice.
func (in *reader) list(field reflect.Value) error {
	limit := maxList
	if _, ok := reflect.TypeAssert[[]Sample](field); ok {
		limit = MaxSamples
	}
	in.limit.element = maxElement
	at := in.decoder.InputOffset()
	token, err := in.decoder.Token()
	switch {
	case err == nil && token == nil: // null, as json.Marshal writes an empty list
		return nil
	case err == nil && token != json.Delim('['):
		err = fmt.Errorf("%.40v where a list is expected", token)
	}
	if err != nil {
		return in.at(at, err)
	}
	for i := 0; in.decoder.More(); i++ {
		if i == limit {
			return fmt.Errorf("more than %d elements, at byte %d", limit, in.decoder.InputOffset())
		}
		element := reflect.New(field.Type().Elem())
		if err := in.decode(element.Interface()); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
		field.Set(reflect.Append(field, element.Elem()))
	}
	return in.delim(']')
}

func (in *reader) decode(target any) error {
	in.limit.element = maxElement
	at := in.decoder.InputOffset()
	return in.at(at, in.decoder.Decode(target))
}

func (in *reader) delim(want json.Delim) error {
	in.limit.element = maxElement
	at := in.decoder.InputOffset()
	token, err := in.decoder.Token()
	if err == nil && token != want {
		err = fmt.Errorf("%.40v where %v is expected", token, want)
	}
	return in.at(at, err)
}

// at adds an offset to an error.
func (in *reader) at(offset int64, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the document ends after byte %d, before it is complete", in.decoder.InputOffset())
	}
	return fmt.Errorf("after byte %d: %w", offset, err)
}

// Write writes a run as one JSON document, the elements of lists on lines of their own. Errors are
// those of w, or name the field and element with a number that JSON doesn't have.
func (r *Run) Write(w io.Writer) error {
	out := &lineWriter{w: w}
	before := "{\n"
	for i, f := range jsonFields() {
		v := reflect.ValueOf(r).Elem().Field(i)
		if f.omit && (v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0) {
			continue
		}
		out.text(before + `"` + f.name + `": `)
		before = ",\n"
		if v.Kind() != reflect.Slice {
			out.value(f.name, v)
			continue
		}
		out.text("[")
		for i := range v.Len() {
			if i > 0 {
				out.text(",")
			}
			out.text("\n")
			out.value(fmt.Sprintf("%s, element %d", f.name, i), v.Index(i))
		}
		out.text("\n]")
	}
	out.text("\n}\n")
	out.flush()
	if out.err != nil {
		return fmt.Errorf("write run: %w", out.err)
	}
	return nil
}

// lineWriter writes in blocks, and keeps the first error.
type lineWriter struct {
	w   io.Writer
	buf []byte
	err error
}

func (l *lineWriter) text(s string) { l.buf = append(l.buf, s...) }

func (l *lineWriter) value(name string, v reflect.Value) {
	if l.err != nil {
		return
	}
	b, err := json.Marshal(v.Addr().Interface())
	if err != nil {
		l.err = fmt.Errorf("%s: %w", name, err)
		return
	}
	l.buf = append(l.buf, b...)
	const block = 1 << 16
	if len(l.buf) >= block {
		l.flush()
	}
}

func (l *lineWriter) flush() {
	if l.err == nil {
		_, l.err = l.w.Write(l.buf)
	}
	l.buf = l.buf[:0]
}

// jsonField is a field of [Run] by its tag.
type jsonField struct {
	name string
	omit bool // if it is empty
}

// jsonFields returns the fields of [Run] in their order.
func jsonFields() []jsonField {
	t := reflect.TypeFor[Run]()
	out := make([]jsonField, t.NumField())
	for i := range out {
		name, option, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		out[i] = jsonField{name, option != ""}
	}
	return out
}

// fieldsOf returns the fields of a run by name.
func fieldsOf(run *Run) map[string]reflect.Value {
	out := map[string]reflect.Value{}
	for i, f := range jsonFields() {
		out[f.name] = reflect.ValueOf(run).Elem().Field(i)
	}
	return out
}
