//go:build !linux

package kernel

import (
	"context"

	"github.com/rdmakit/rdmakit/doctor/facts"
)

func discipline() (facts.ClockDiscipline, error) {
	return facts.ClockDiscipline{}, facts.Absent("this system has no adjtimex")
}

func space(string) (facts.FileSystem, error) {
	return facts.FileSystem{}, facts.Absent("this system has no statfs")
}

func routing(context.Context) (facts.Routing, error) {
	return facts.Routing{}, facts.Absent("this system has no rtnetlink")
}

func readLinks(context.Context) ([]facts.Link, error) {
	return nil, facts.Absent("this system has no rtnetlink")
}

func readFilter(context.Context, *facts.Files) ([]facts.FilterRule, error) {
	return nil, facts.Absent("this system has no nf_tables")
}
