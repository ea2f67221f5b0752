// Package symptoms has rules as values: lines that programs print when something fails, what they
// mean, and the causes that they can have. What needs more than a table is code in package rules.
//
//	for _, s := range symptoms.All() { fmt.Println(s.ID, s.Title) }
//
// Texts of lines are from the sources of the programs, which each line names. Package forms finds
// the lines, and package rules weighs the causes.
package symptoms

import (
	"cmp"
	"slices"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// Symptom is a rule.
type Symptom struct {
	// ID is stable: "RDX-301". Numbers are given once.
	ID string
	// Name is the name of the rule's page, in lower case with hyphens; Title says what was seen.
	Name, Title string
	// Explanation is for the page of the rule.
	Explanation string
	// Sources are threads, source files and specifications: "NVIDIA/nccl#426".
	Sources []string
	// Standing says what the lines are among other failures; a line can have another one.
	Standing evidence.Standing
	// Lasts is set if a line of the kernel tells of something that goes on, such as a driver that
	// could not start, and not of an event that is over.
	Lasts bool
	// Last is set if the symptom is for lines that no other symptom of the program has.
	Last bool
	// Lines are those that show the symptom.
	Lines []Line
	// Causes are those that it can have, in any order.
	Causes []Cause
}

// Line is a line of a program, by the texts in it.
type Line struct {
	// Name is unique among the lines of a program, in lower case with hyphens.
	Name string
	// Program is the name of the table of forms that the line belongs to, such as [NCCL]: it
	// decides how the prefix of the line is read.
	Program string
	// All are texts that the line contains; the first one is searched for, so it is the longest or
	// the rarest. Of Any, if set, it contains at least one; None are texts that it doesn't contain.
	All, Any, None []string
	// Fields are values in the line: a name such as "device", "peer", "errno", "gid", "path", and
	// the text before the value, which is one word. The error number is found without.
	Fields []Field
	// Standing is that of the symptom if it is zero.
	Standing evidence.Standing
	// Source is where the text was read: "NVIDIA/nccl, src/transport/shm.cc".
	Source string
	// Speaks are slugs of causes for which this line is strong evidence, and Decides the slug of
	// the cause that it proves, "" for none.
	Speaks  []string
	Decides string
}

// Field is a value in a line: the word behind a text.
type Field struct{ Name, After string }

// Weight is how often a cause is the one, or what evidence counts.
type Weight int

// Weights of causes before evidence, and of evidence.
const (
	Common   Weight = 20 // causes that are found most often
	Usual    Weight = 12
	Rare     Weight = 5
	Hint     Weight = 10 // evidence that fits other causes, too
	Strong   Weight = 25 // hardly fits anything else
	Decisive Weight = 60 // fits nothing else, short of a proof
)

// Cause is a possible cause of a symptom.
type Cause struct {
	Slug   string // the same for the same cause in all rules
	Title  string
	Weight Weight
	// Clues are evidence for and against it.
	Clues []Clue
	// Decide is the command, or the look at something, that decides whether it is this cause, and
	// Remedy what to do then.
	Decide, Remedy string
	Sources        []string
}

// Clue is evidence for a cause, or against it if Weight is negative. All its conditions must hold;
// those that are zero are none.
type Clue struct {
	Weight Weight
	// Text says what was seen, in a few words; "" quotes the line.
	Text string

	// Line is the name of a line of the symptom, of which there is one.
	Line string
	// Contains is a text in a line of the symptom.
	Contains string
	// Field is the name of a value of the first line, which is one of Is; without Is, it is there.
	Field string
	Is    []string
	// Library is the name of a library whose version is at least Since and at most Until.
	Library, Since, Until string
	// Variable is a variable of the environment that is set, to one of Values if there are some.
	Variable string
	Values   []string
	// Link is the kind of the port: "InfiniBand", "RoCE", "EFA".
	Link string
	// Driver is a driver of one of the devices: "mlx5", "bnxt_re", "irdma", "efa".
	Driver string
	// Seen is the name of a line of any symptom ("program/name"), or the kind of an event, that is
	// anywhere in the inputs; SeenField one of its values, which is one of SeenIs.
	Seen      string
	SeenField string
	SeenIs    []string
}

// Programs that lines can belong to: the names of tables of forms. Each stands for several.
const (
	NCCL       = "NCCL"                      // NCCL, RCCL and their plugins
	Torch      = "PyTorch and its launchers" // PyTorch, Gloo, Ray, vLLM, SGLang and others above them
	NVSHMEM    = "NVSHMEM and DeepEP"        // NVSHMEM and DeepEP
	UCX        = "UCX"                       // UCX and NIXL
	Mooncake   = "Mooncake"                  // Mooncake's transfer engine and store
	Libfabric  = "libfabric and MPI"         // libfabric, its plugin for NCCL, and implementations of MPI
	Perftest   = "perftest"                  // perftest
	Verbs      = "verbs programs"            // all other programs with verbs or rdma_cm, and libibverbs itself
	Kernel     = "Linux kernel"              // the kernel, its drivers, and file systems and block devices over RDMA
	OpenSM     = "OpenSM"                    // OpenSM and the tools of infiniband-diags
	Kubernetes = "Kubernetes networking"     // device plugins, CNIs, operators, and container runtimes
)

// ByID returns the symptom with an ID, nil if there is none.
func ByID(id string) *Symptom {
	return find(func(s *Symptom) bool { return s.ID == id })
}

// ByName returns the symptom with a name, nil if there is none.
func ByName(name string) *Symptom {
	return find(func(s *Symptom) bool { return s.Name == name })
}

func find(wanted func(*Symptom) bool) *Symptom {
	list := All()
	if i := slices.IndexFunc(list, wanted); i >= 0 {
		return list[i]
	}
	return nil
}

// Of returns the lines of a program, each with its symptom.
func Of(program string) []Match {
	var list []Match
	for _, s := range All() {
		for _, l := range s.Lines {
			if l.Program == program {
				list = append(list, Match{Symptom: s, Line: l})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Match) int { return cmp.Compare(a.order(), b.order()) })
	return list
}

// Match is a line with its symptom.
type Match struct {
	Symptom *Symptom
	Line    Line
}

// order returns the place of the match among those of a program: the first one that fits counts.
func (m Match) order() int {
	if m.Symptom.Last {
		return 1
	}
	return 0
}
