package codes

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Explanation is what one value, or the values of one line, mean: for printing as text or JSON.
type Explanation struct {
	Kind        string   `json:"kind"` // status, vendor, errno, cqe, event, aeth, or the key of an enumeration
	Title       string   `json:"title"`
	Meaning     string   `json:"meaning,omitempty"`
	Who         Who      `json:"who,omitzero"`
	Causes      []string `json:"causes,omitempty"`
	Details     []Detail `json:"details,omitempty"`
	Ambiguities []string `json:"ambiguities,omitempty"` // other readings, and what contradicts
	Sources     []string `json:"sources,omitempty"`
}

// Detail is a named value of an explanation.
type Detail struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func (e *Explanation) add(name, format string, args ...any) {
	e.Details = append(e.Details, Detail{Name: name, Value: fmt.Sprintf(format, args...)})
}

func (e *Explanation) doubt(format string, args ...any) {
	e.Ambiguities = append(e.Ambiguities, fmt.Sprintf(format, args...))
}

func (e *Explanation) from(sources ...string) {
	for _, s := range sources {
		if s != "" && !slices.Contains(e.Sources, s) {
			e.Sources = append(e.Sources, s)
		}
	}
}

// accepted names the forms of [Lookup].
const accepted = "want KEY=VALUE (status, vendor, driver, program, syndrome, errno, verb, link, event, aeth, mtu, " +
	"port_state, phys_state, nccl_result, nccl_socket, cm_event, reject, rnr_timer), a name such as " +
	"IBV_WC_RETRY_EXC_ERR or ETIMEDOUT, a text such as \"transport retry counter exceeded\", or the part of a " +
	"log line that has the numbers"

var errNothing = errors.New(accepted)

// Lookup explains what people paste: "status=12 vendor=129 driver=mlx5", "synd 0x15 vend 0x81
// hw_synd 0/0", "Failed status 12: wr_id 0 syndrom 0x81", "IBV_WC_RETRY_EXC_ERR(12)", "ETIMEDOUT",
// "Connection timed out", "errno=110 verb=ibv_modify_qp link=RoCE", "event=10", "mtu=3", the dump
// of a completion. It fails if nothing in the text is known, and names what it accepts.
func Lookup(text string) (Explanation, error) {
	f, err := readFields(text)
	if err != nil {
		return Explanation{}, fmt.Errorf("explain code %q: %w", clip(text), err)
	}
	if e, ok, err := lookupFields(f, text); ok || err != nil {
		if err != nil {
			err = fmt.Errorf("explain code %q: %w", clip(text), err)
		}
		return e, err
	}
	if len(dumpsOf(text)) > 0 {
		return LookupCQE(text)
	}
	if n, err := strconv.ParseInt(strings.TrimSpace(text), 0, 32); err == nil {
		return explainNumber(int(n), text)
	}
	if s, ok := StatusByText(text); ok {
		return explainStatus(s, f)
	}
	if e, ok := EventByText(text); ok {
		return explainEvent(e), nil
	}
	if n, ok := ErrnoByText(text); ok {
		f.findOperation(text)
		return explainErrno(n, f)
	}
	for _, enum := range Enumerations() {
		if v, ok := enum.ByName(text); ok && v.Name != "" {
			return explainValue(enum, v), nil
		}
	}
	return Explanation{}, fmt.Errorf("explain code %q: %w", clip(text), errNothing)
}

// explainNumber explains a number without a key: a status if it can be one, else an error number.
func explainNumber(n int, text string) (Explanation, error) {
	if s, ok := Status(n); ok {
		e, err := explainStatus(s, fields{})
		if errno, ok := Errno(n, AnyOperation, LinkUnknown); ok {
			e.doubt("as an error number it is %s: give errno=%d", errno, n)
		}
		return e, err
	}
	if _, ok := Errno(n, AnyOperation, LinkUnknown); !ok {
		return Explanation{}, fmt.Errorf("explain code %q: no status and no error number has it; for a vendor code "+
			"give vendor=%s and status=", clip(text), clip(text))
	}
	e, err := explainErrno(n, fields{})
	if n > 0 {
		e.doubt("if it is a vendor code: give vendor=%d and status=", n)
	}
	return e, err
}

// lookupFields explains a text that names its values by keys.
func lookupFields(f fields, text string) (Explanation, bool, error) {
	for _, enum := range Enumerations() {
		if v, ok := f[enum.Key]; ok {
			e, err := explainEnumeration(enum, v)
			return e, err == nil, err
		}
	}
	switch {
	case f["sockets"] != "":
		return explainSockets(f["sockets"]), true, nil
	case f["aeth"] != "":
		e, err := explainAETH(f["aeth"])
		return e, err == nil, err
	case f["event"] != "":
		e, err := eventOf(f["event"])
		return e, err == nil, err
	case f["status"] != "", f["syndrome"] != "", f["vendor"] != "", f["kernelqp"] != "":
		e, err := explainCompletion(f, text)
		return e, err == nil, err
	case f["errno"] != "":
		f.findOperation(text)
		e, err := LookupErrno(f["errno"], f["verb"], f["link"])
		return e, err == nil, err
	}
	return Explanation{}, false, nil
}

// LookupErrno explains an error number, name or text ("110", "-19", "ETIMEDOUT", "Connection timed
// out") of an operation ("ibv_modify_qp", "reg-mr", …; empty if unknown) on a link ("RoCE",
// "InfiniBand", "iWARP"; empty if unknown).
func LookupErrno(errno, operation, link string) (Explanation, error) {
	n, ok := ErrnoByText(errno)
	if !ok {
		return Explanation{}, fmt.Errorf("errno %q: want a number of Linux (1 to %d), a name such as ETIMEDOUT, or "+
			"the text of strerror such as \"Connection timed out\"", clip(errno), len(errnos)-1)
	}
	return explainErrno(n, fields{"verb": operation, "link": link})
}

func explainErrno(number int, f fields) (Explanation, error) {
	op := AnyOperation
	if v := f["verb"]; v != "" {
		var ok bool
		if op, ok = OperationByText(v); !ok {
			return Explanation{}, fmt.Errorf("operation %q: want one of %s", clip(v), joined(Operations()))
		}
	}
	link, ok := LinkByText(f["link"])
	if !ok {
		return Explanation{}, fmt.Errorf("link %q: want RoCE, InfiniBand or iWARP", clip(f["link"]))
	}
	n, _ := Errno(number, op, link)
	e := Explanation{Kind: "errno", Title: "errno " + n.String(), Meaning: n.Meaning, Causes: n.Causes}
	if op != AnyOperation {
		e.add("operation", "%s", op)
	}
	if link != LinkUnknown {
		e.add("link", "%s", link)
	}
	e.from("linux/errno.h")
	e.from(n.Sources...)
	if n.Meaning == "" {
		e.doubt("no source says more about this number for RDMA")
	}
	if op == AnyOperation {
		e.doubt("the meaning depends on the call that failed: give verb=, one of %s", joined(Operations()))
	} else if _, ok := meaningOf(number, op, link); !ok {
		e.doubt("no source says what the number means for %s: this is its general meaning", op)
	}
	return e, nil
}

// LookupCQE explains the dump of an error completion of mlx5; see [ParseCQE].
func LookupCQE(text string) (Explanation, error) {
	c, err := ParseCQE(text)
	if err != nil {
		return Explanation{}, err
	}
	e, err := explainStatus(c.Status, fields{"vendor": fmt.Sprintf("%#x", c.Vendor), "driver": "mlx5"})
	if err != nil {
		return Explanation{}, err
	}
	e.Kind, e.Title = "cqe", "error completion of mlx5: status "+c.Status.String()
	if !c.SyndromeKnown {
		e.doubt("syndrome 0x%02x is not in the driver's table, which reports it as a general error", c.Syndrome)
	}
	e.add("side", "%s", c.Side())
	e.add("syndrome", "0x%02x", c.Syndrome)
	e.add("hardware syndrome", "%d/%d (type/syndrome)", c.HWSyndromeType, c.HWSyndrome)
	e.add("queue pair", "0x%x", c.QPN)
	e.add("request", "index %d", c.WQECounter)
	if c.OpcodeName != "" {
		e.add("operation", "%s", c.OpcodeName)
	} else if !c.Responder {
		e.add("operation", "opcode 0x%02x", c.Opcode)
	}
	if c.Whole && c.SRQN != 0 {
		e.add("srq or user index", "0x%x", c.SRQN)
	}
	e.from("rdma-core, struct mlx5_err_cqe in providers/mlx5/mlx5dv.h", "openucx/ucx, src/uct/ib/mlx5/ib_mlx5.h")
	return e, nil
}

func joined[T ~string](list []T) string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = string(v)
	}
	return strings.Join(names, ", ")
}

// clip limits a text that is quoted in an error.
func clip(text string) string {
	if r := []rune(text); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return text
}
