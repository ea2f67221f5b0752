package checks

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/wire/counters"
)

// readTwice fills in the two readings of an object.
func (r *counterRule) readTwice(in *doctor.Input, s *sample) {
	s.readings = in.Facts.Rates.Value.Of(s.object)
	switch {
	case s.readings == nil:
		s.errs = append(s.errs, facts.Absent("its counters were not read"))
		return
	case s.readings.Lost != "":
		s.lost = s.readings.Lost
		return
	}
	s.counters = matching(s.readings.After, r.counters)
	for _, c := range matching(s.readings.After, r.per) {
		s.per = append(s.per, s.change(c))
	}
	for _, c := range matching(s.readings.Before, r.counters) {
		if len(matching(s.counters, []counterName{{c.Group, c.Name}})) == 0 && c.Group != groupDriverDevice {
			s.errs = append(s.errs, fmt.Errorf("%s is missing in the second reading", c.Name))
		}
	}
	for _, text := range s.readings.Errors {
		if r.concerns(text) {
			s.errs = append(s.errs, fmt.Errorf("not judged: %s", text))
		}
	}
	for _, text := range s.readings.Denied {
		if r.concerns(text) {
			s.errs = append(s.errs, facts.Denied("not judged: %s", text))
		}
	}
}

// concerns reports whether the text of an error names one of the rule's counters, or what the
// driver reports through ethtool if there are such counters.
func (r *counterRule) concerns(text string) bool {
	for _, c := range slices.Concat(r.counters, r.per) {
		pattern, _, _ := strings.Cut(c.name, ":")
		for word := range strings.FieldsSeq(text) {
			ok, _ := path.Match(pattern, path.Base(strings.TrimSuffix(word, ":")))
			if ok && strings.HasPrefix(word, "/") {
				return true
			}
		}
		if c.group == facts.CountersEthtool && strings.Contains(text, "ethtool") {
			return true
		}
	}
	return false
}

// readOnce fills in the values of an object, without an interval.
func (r *counterRule) readOnce(in *doctor.Input, s *sample) {
	list := r.ethtoolOnce(in, s)
	for _, c := range r.counters {
		switch c.group {
		case groupClassic:
			list = append(list, s.file(in, c, groupClassic, path.Join(s.port.port.Path, groupClassic))...)
		case groupDriver:
			list = append(list, s.file(in, c, groupDriver, path.Join(s.port.port.Path, groupDriver))...)
			list = append(list, s.file(in, c, groupDriverDevice, path.Join(s.port.dev.Path, groupDriver))...)
		case facts.CountersNetdev:
			list = append(list, s.file(in, c, c.group, "/"+classNet(s.object))...)
		case facts.CountersAER:
			list = append(list, s.aer(in, c)...)
		}
	}
	s.counters = matching(list, r.counters)
}

// file reads a counter that is a file of a folder. A counter that doesn't exist is no error.
func (s *sample) file(in *doctor.Input, c counterName, group, dir string) []inventory.Counter {
	name := path.Join(dir, c.name)
	text, err := s.text(in, name)
	if err != nil || strings.HasPrefix(text, "N/A") {
		return nil
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		s.errs = append(s.errs, fmt.Errorf("%s holds %q, which is not a count", name, text))
		return nil
	}
	out := inventory.Counter{Name: c.name, Group: group, Path: name, Value: &v}
	if known, ok := counters.ByFile(c.name); ok && group == groupClassic {
		out.Saturated = counters.Reading{Value: v, Bits: known.Bits}.Saturated()
	}
	return []inventory.Counter{out}
}

// text reads a file, by its absolute path. Errors other than absence are kept; files that can't be
// read for another reason than privilege are reported by [doctor.Run].
func (s *sample) text(in *doctor.Input, name string) (string, error) {
	if p, ok := in.ProblemAt(name); ok {
		s.unread = true
		return "", errors.New(p.Error)
	}
	text, err := in.Facts.Files.Text(strings.TrimPrefix(name, "/"))
	switch {
	case errors.Is(err, facts.ErrDenied):
		s.errs = append(s.errs, err)
	case err != nil && !errors.Is(err, facts.ErrAbsent):
		s.unread = true
	}
	return text, err //nolint:wrapcheck // names the file, and is compared only
}

func (s *sample) aer(in *doctor.Input, c counterName) []inventory.Counter {
	file, _, _ := strings.Cut(c.name, ":")
	dir := "/" + pciDir(s.object)
	text, err := s.text(in, path.Join(dir, file))
	if err != nil {
		return nil
	}
	list, err := facts.ParseAER(dir, file, text)
	if err != nil {
		s.errs = append(s.errs, err)
	}
	return list
}

// ethtoolOnce returns the statistics of a network device.
func (r *counterRule) ethtoolOnce(in *doctor.Input, s *sample) []inventory.Counter {
	if !r.has(facts.CountersEthtool) {
		return nil
	}
	if err := in.Facts.State(facts.KindEthtool); err != nil {
		s.errs = append(s.errs, fmt.Errorf("%s: %w", facts.KindEthtool.What(), err))
		return nil
	}
	for _, e := range in.Facts.Ethtool.Value {
		if e.Netdev != s.object {
			continue
		}
		if err := e.State(facts.EthtoolStatistics); err != nil {
			s.errs = append(s.errs, err)
		}
		return facts.EthtoolCounters(e)
	}
	return nil
}
