package lint

import "slices"

// soundFixes checks the values that findings propose for lists of devices. A finding looks only at
// its own fault, so its value can keep another one, such as a port that is down. A value that the
// rules would report again is replaced by the list that launch derives; if there is none, the
// finding has no value.
func (l *linter) soundFixes() {
	faulty := map[Fix]bool{}
	for i := range l.findings {
		f := &l.findings[i]
		for j, fix := range slices.Backward(f.Fixes) {
			if fix.Unset || !slices.Contains(listNames(), fix.Name) {
				continue
			}
			if _, known := faulty[fix]; !known {
				faulty[fix] = l.faulty(fix)
			}
			if !faulty[fix] {
				continue
			}
			f.Fixes = slices.Delete(f.Fixes, j, j+1)
			if d, ok := l.listNamed(fix.Name); ok && !f.proposes(fix.Name) {
				l.rightList(f, d)
			}
		}
	}
}

// faulty reports whether a rule about lists has more than a note on the variable with the value.
func (l *linter) faulty(fix Fix) bool {
	if fix.Value == l.derived[fix.Name] {
		return false
	}
	env := l.env
	env.Settings = append(slices.Clone(env.Settings), Setting{Name: fix.Name, Value: fix.Value})
	again := newLinter(l.node, env)
	for _, r := range hcaRules() {
		again.rule = &r
		r.check(again)
	}
	return slices.ContainsFunc(again.findings, func(f Finding) bool {
		return f.Variable == fix.Name && f.Severity != SeverityNote
	})
}

// listNamed returns the list of a variable; false if it is not set.
func (l *linter) listNamed(name string) (deviceList, bool) {
	for _, d := range l.lists() {
		if d.name == name {
			return d, true
		}
	}
	return deviceList{}, false
}

func (f *Finding) proposes(name string) bool {
	return slices.ContainsFunc(f.Fixes, func(x Fix) bool { return x.Name == name })
}
