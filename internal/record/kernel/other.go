//go:build !linux

package kernel

import "github.com/rdmakit/rdmakit/doctor/facts"

func discipline() (facts.ClockDiscipline, error) {
	return facts.ClockDiscipline{}, facts.Absent("this system has no adjtimex")
}

func space(string) (facts.FileSystem, error) {
	return facts.FileSystem{}, facts.Absent("this system has no statfs")
}
