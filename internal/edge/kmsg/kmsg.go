// Package kmsg reads the messages of the kernel (dmesg) that are still in its buffer.
//
//	records, err := kmsg.Read(ctx)
//	if errors.Is(err, fs.ErrPermission) { … } // kernel.dmesg_restrict is 1, without CAP_SYSLOG
//	for _, r := range records {
//		fmt.Println(r.Since, r.Level, r.Text)
//	}
//
// Only messages of the kernel itself are returned: programs can write to its log too, under other
// facilities. Reading takes nothing away from others, and never waits.
//
// # Concurrency
//
// Functions may be called from several goroutines.
//
// # Limits
//
// The buffer is a ring: the oldest messages of a machine that has been up for long are gone. The
// time since boot does not advance while the machine is suspended.
package kmsg

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Record is a message of the kernel (Documentation/ABI/testing/dev-kmsg).
type Record struct {
	Sequence uint64
	Since    time.Duration // since boot
	Level    int           // 0 emerg, 1 alert, 2 crit, 3 err, 4 warning, 5 notice, 6 info, 7 debug
	Facility int           // 0 for the kernel
	Text     string        // valid UTF-8, without a newline at its end
}

// errRecord is the error about a record that has another form.
var errRecord = errors.New("not a record of the kernel's log")

// Parse parses a record as /dev/kmsg returns it: "6,339,5140900,-;NET: Registered", and lines with
// properties, which are left out.
func Parse(line string) (Record, error) {
	prefix, rest, ok := strings.Cut(line, ";")
	fields := strings.Split(prefix, ",")
	if !ok || len(fields) < 3 {
		return Record{}, fmt.Errorf("%w: %.40q", errRecord, line)
	}
	priority, err1 := strconv.ParseUint(fields[0], 10, 31)
	sequence, err2 := strconv.ParseUint(fields[1], 10, 64)
	micros, err3 := strconv.ParseUint(fields[2], 10, 53)
	if err := errors.Join(err1, err2, err3); err != nil {
		return Record{}, fmt.Errorf("%w: %.40q", errRecord, line)
	}
	text, _, _ := strings.Cut(rest, "\n")
	return Record{
		Sequence: sequence, Since: time.Duration(micros) * time.Microsecond,
		Level: int(priority & 7), Facility: int(priority >> 3), Text: strings.ToValidUTF8(unescape(text), "\uFFFD"),
	}, nil
}

// unescape replaces the kernel's \xHH for unprintable bytes.
func unescape(s string) string {
	if !strings.Contains(s, `\x`) {
		return s
	}
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, `\x`)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		if n, err := strconv.ParseUint(after[:min(2, len(after))], 16, 8); err == nil && len(after) >= 2 {
			b.WriteByte(byte(n))
			s = after[2:]
			continue
		}
		b.WriteString(`\x`)
		s = after
	}
}
