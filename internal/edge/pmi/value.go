package pmi

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// maxCommand is the longest line in bytes, with its newline, that every server reads at once
// (MAX_READLINE of Slurm, PMIU_MAXLINE of MPICH).
const maxCommand = 1024

// maxParts is the largest number of keys that a value is split over.
const maxParts = 64

// Put stores a value, of any bytes, under a key that no task has used. Others can get it after the
// next barrier. Characters that the protocol doesn't allow are encoded; a value that is longer than
// the server accepts is stored in parts under several keys.
func (c *Client) Put(ctx context.Context, key, value string) error {
	if err := c.put(ctx, key, value); err != nil {
		return fmt.Errorf("put %s into the key-value space of PMI: %w", key, err)
	}
	return nil
}

func (c *Client) put(ctx context.Context, key, value string) error {
	names, room, err := c.parts(key)
	if err != nil {
		return err
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(value))
	left := max(1, (len(text)+room-1)/room)
	if left > maxParts {
		return fmt.Errorf("%d bytes need more than %d keys of %d bytes", len(value), maxParts, room)
	}
	for _, name := range names[:left] {
		left--
		part := text[:min(room, len(text))]
		text = text[len(part):]
		// The number says how many parts follow.
		command := fmt.Sprintf("put kvsname=%s key=%s value=%d.%s", c.kvs, name, left, part)
		if _, err := c.ask(ctx, command, "put_result"); err != nil {
			return err
		}
	}
	return nil
}

// Get returns a value that a task has put before the last barrier. If there is none, the error
// matches [ErrNotFound].
func (c *Client) Get(ctx context.Context, key string) (string, error) {
	value, err := c.get(ctx, key)
	if err != nil {
		return "", fmt.Errorf("get %s from the key-value space of PMI: %w", key, err)
	}
	return value, nil
}

func (c *Client) get(ctx context.Context, key string) (string, error) {
	names, _, err := c.parts(key)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	want := -1 // parts that must follow, once it is known
	for _, name := range names {
		a, err := c.ask(ctx, fmt.Sprintf("get kvsname=%s key=%s", c.kvs, name), "get_result")
		if refused, ok := errors.AsType[*ServerError](err); ok && refused.notFound() {
			return "", fmt.Errorf("%w: %w", ErrNotFound, err)
		}
		if err != nil {
			return "", err
		}
		number, part, ok := strings.Cut(a.fields["value"], ".")
		left, err := strconv.Atoi(number)
		if !ok || err != nil || left < 0 || want >= 0 && left != want {
			return "", fmt.Errorf("the value of %s is not one of this program: %.40q", name, a.fields["value"])
		}
		text.WriteString(part)
		if left == 0 {
			b, err := base64.RawURLEncoding.DecodeString(text.String())
			if err != nil {
				return "", fmt.Errorf("the value is not one of this program: %w", err)
			}
			return string(b), nil
		}
		want = left - 1
	}
	return "", fmt.Errorf("the value has more than %d parts", maxParts)
}

// parts returns the keys for the parts of a value, and how many characters each can hold.
func (c *Client) parts(key string) (names []string, room int, err error) {
	escaped := url.QueryEscape(key)
	for i := range maxParts {
		names = append(names, escaped+"."+strconv.Itoa(i))
	}
	last := len(names[maxParts-1])
	if key == "" || last > c.limits.key {
		return nil, 0, fmt.Errorf("a key of %d bytes, encoded, is not of 1 to %d", last, c.limits.key)
	}
	frame := len(fmt.Sprintf("cmd=put kvsname=%s key=%s value=\n", c.kvs, names[maxParts-1]))
	number := len(strconv.Itoa(maxParts) + ".")
	if room = min(c.limits.value, maxCommand-frame) - number; room < 1 {
		return nil, 0, fmt.Errorf("the limits of the server, %+v, leave no room for a value", c.limits)
	}
	return names, room, nil
}
