package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// jsonValue is a value of a JSON document with its place.
type jsonValue struct {
	place string // file:line:column
	path  string // "devices[0].mtu", empty for the document
	// value is a string, json.Number, bool or nil, a []jsonValue, or a []jsonMember.
	value any
}

// jsonMember is a member of an object.
type jsonMember struct {
	place string // of the key
	key   string
	value jsonValue
}

// kind names the type of a value for messages.
func (v *jsonValue) kind() string {
	switch v.value.(type) {
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case bool:
		return "true or false"
	case []jsonValue:
		return "a list"
	case []jsonMember:
		return "an object"
	}
	return "null"
}

// parseJSON reads a document. The error is an *Error with the place of what is not JSON.
func parseJSON(file string, data []byte) (jsonValue, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	p := &jsonParser{file: file, data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	p.dec.UseNumber()
	var whole any
	if err := json.Unmarshal(data, &whole); err != nil { // Token takes some of what isn't JSON
		at := len(data)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = int(syntax.Offset) - 1
		}
		if err := notText(file, data); err != nil {
			return jsonValue{}, err
		}
		return jsonValue{}, &Error{Source: p.position(at), Reason: "is not JSON: " + err.Error()}
	}
	return p.value("")
}

type jsonParser struct {
	file string
	data []byte
	dec  *json.Decoder
}

// position returns a place for people: lines and columns count from 1, columns in characters.
func (p *jsonParser) position(at int) string {
	before := p.data[:max(0, min(at, len(p.data)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len([]rune(string(before[bytes.LastIndexByte(before, '\n')+1:]))) + 1
	return fmt.Sprintf("%s:%d:%d", p.file, line, column)
}

// next returns a token and where it begins.
func (p *jsonParser) next() (json.Token, string, error) {
	at := int(p.dec.InputOffset())
	for at < len(p.data) && bytes.IndexByte([]byte(" \t\r\n,:"), p.data[at]) >= 0 {
		at++
	}
	token, err := p.dec.Token()
	return token, p.position(at), err
}

// value reads a value. The document is known to be JSON, so errors are broken invariants of the
// library and only passed on.
func (p *jsonParser) value(path string) (jsonValue, error) {
	token, place, err := p.next()
	v := jsonValue{place: place, path: path, value: token}
	if err != nil {
		return v, fmt.Errorf("%s: %w", place, err)
	}
	switch token {
	case json.Delim('['):
		v.value, err = p.list(path)
	case json.Delim('{'):
		v.value, err = p.object(path)
	}
	return v, err
}

func (p *jsonParser) list(path string) ([]jsonValue, error) {
	list := []jsonValue{}
	for p.dec.More() {
		v, err := p.value(path + "[" + strconv.Itoa(len(list)) + "]")
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, _, err := p.next()
	return list, err
}

func (p *jsonParser) object(path string) ([]jsonMember, error) {
	members := []jsonMember{}
	for p.dec.More() {
		token, place, err := p.next()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", place, err)
		}
		key, _ := token.(string)
		below := key
		if path != "" {
			below = path + "." + key
		}
		v, err := p.value(below)
		if err != nil {
			return nil, err
		}
		members = append(members, jsonMember{place: place, key: key, value: v})
	}
	_, _, err := p.next()
	return members, err
}
