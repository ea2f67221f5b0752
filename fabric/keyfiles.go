package fabric

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// Names of the files with keys in the cache of OpenSM (/var/cache/opensm by default) and in the
// directory of ibdiagnet's option --security_keys.
const (
	FileMKeys     = "guid2mkey"  // M_Keys, by port GUID
	FilePMKeys    = "guid2pmkey" // PM_Keys
	FileVSKeys    = "guid2vskey" // VS_Keys
	FileNeighbors = "neighbors"  // the other ends of cables
	FileLIDs      = "guid2lid"   // the LIDs of ports
)

// ReadDir reads the files with keys that a directory has, and adds what they contain. It returns
// their names: none is no error. The error names each line that can't be read, but never a key.
func (k *Keys) ReadDir(dir fs.FS) (found []string, err error) {
	var problems []error
	for _, one := range []struct {
		name string
		read func(name string, r io.Reader) error
	}{
		{FileMKeys, k.M.Read},
		{FilePMKeys, k.PM.Read},
		{FileVSKeys, k.VS.Read},
		{FileNeighbors, k.readNeighbors},
		{FileLIDs, k.readLIDs},
	} {
		file, err := dir.Open(one.name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return found, err
		}
		err = one.read(one.name, file)
		file.Close() //nolint:errcheck,gosec // it was only read
		problems = append(problems, err)
		found = append(found, one.name)
	}
	return found, errors.Join(problems...)
}

// Read adds the keys of a file: lines with a GUID and a key, which is the form of OpenSM
// (osm_db_files.c, with an empty line after each) and of ibdiagnet. # begins a comment. The name is
// for the error, which names each line that can't be read, but never a key.
func (t *KeyTable) Read(name string, r io.Reader) error {
	lines := map[ib.GUID]int{}
	const form = "expected a GUID and a key, such as 0x0002c9000000001e 0x0000000000000111"
	return readLines(name, r, func(number int, words []string) error {
		if len(words) != 2 {
			return errors.New(form)
		}
		guid, ok := parseGUID(words[0])
		key, err := strconv.ParseUint(words[1], 0, 64)
		if !ok || err != nil {
			return errors.New(form)
		}
		if earlier, twice := lines[guid]; twice && t.ByGUID[guid] != key {
			return fmt.Errorf("the GUID has another key in line %d: expected one for each GUID", earlier)
		}
		if t.ByGUID == nil {
			t.ByGUID = map[ib.GUID]uint64{}
		}
		t.ByGUID[guid], lines[guid] = key, number
		return nil
	})
}

// readNeighbors reads lines with the two ends of a cable, "GUID:PORT GUID:PORT".
func (k *Keys) readNeighbors(name string, r io.Reader) error {
	if k.Neighbors == nil {
		k.Neighbors = map[PortID]PortID{}
	}
	return readLines(name, r, func(_ int, words []string) error {
		if len(words) == 2 {
			a, okA := parseEnd(words[0])
			b, okB := parseEnd(words[1])
			if okA && okB {
				k.Neighbors[a], k.Neighbors[b] = b, a
				return nil
			}
		}
		return errors.New("expected two ports, such as 0x0002c9000000004d:4 0x0002c9000000000e:1")
	})
}

// readLIDs reads lines with a port GUID and its first and last LID.
func (k *Keys) readLIDs(name string, r io.Reader) error {
	if k.LIDs == nil {
		k.LIDs = map[ib.LID]ib.GUID{}
	}
	return readLines(name, r, func(_ int, words []string) error {
		if len(words) == 3 {
			guid, ok := parseGUID(words[0])
			first, errFirst := strconv.ParseUint(words[1], 0, 16)
			last, errLast := strconv.ParseUint(words[2], 0, 16)
			if ok && errFirst == nil && errLast == nil && 0 < first && first <= last && last <= maxUnicastLID {
				for lid := first; lid <= last; lid++ {
					k.LIDs[ib.LID(lid)] = guid
				}
				return nil
			}
		}
		return errors.New("expected a GUID and the first and last LID, such as 0x0002c9000000002a 0x001a 0x001b")
	})
}

// parseGUID reads a GUID of up to 16 hexadecimal digits, with or without 0x; not 0.
func parseGUID(text string) (g ib.GUID, ok bool) {
	v, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
	return guidOf(v), err == nil && v != 0
}

func guidOf(v uint64) (g ib.GUID) {
	for i := range g {
		g[i] = byte(v >> (56 - 8*i))
	}
	return g
}

// parseEnd reads "GUID:PORT".
func parseEnd(text string) (end PortID, ok bool) {
	guid, port, _ := strings.Cut(text, ":")
	number, err := strconv.ParseUint(port, 10, 8)
	end.Node, ok = parseGUID(guid)
	end.Port = uint8(number)
	return end, ok && err == nil
}

// Limits of a file: a subnet has fewer ports, and more wrong lines than these tell nothing new.
const (
	maxKeyLines   = 1 << 20
	maxWrongLines = 10
)

// readLines calls read with the words of each line that has any. Its errors, which are about lines,
// are collected; the error of the file ends the reading.
func readLines(name string, r io.Reader, read func(number int, words []string) error) error {
	var wrong []error
	more := 0
	lines := bufio.NewScanner(r)
	number := 0
	for lines.Scan() {
		if number++; number > maxKeyLines {
			return fmt.Errorf("%s: more than %d lines", name, maxKeyLines)
		}
		text, _, _ := bytes.Cut(lines.Bytes(), []byte("#"))
		words := strings.Fields(string(text))
		if len(words) == 0 {
			continue
		}
		if err := read(number, words); err != nil {
			if len(wrong) == maxWrongLines {
				more++
				continue
			}
			wrong = append(wrong, fmt.Errorf("%s: line %d: %w", name, number, err))
		}
	}
	if err := lines.Err(); err != nil {
		wrong = append(wrong, fmt.Errorf("%s: line %d: %w", name, number+1, err))
	}
	if more > 0 {
		wrong = append(wrong, fmt.Errorf("%s: %d more lines can't be read", name, more))
	}
	return errors.Join(wrong...)
}
