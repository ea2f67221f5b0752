package codes

import (
	"fmt"
	"strconv"
	"strings"
)

// explainCompletion explains the status, syndrome and vendor code of a completion.
func explainCompletion(f fields, text string) (Explanation, error) {
	if f["kernelqp"] != "" {
		return explainKernelQP(f)
	}
	var s WorkStatus
	switch {
	case f["status"] != "":
		var ok bool
		if s, ok = StatusByText(f["status"]); !ok {
			return Explanation{}, fmt.Errorf("status %q: want 0 to %d, a name such as IBV_WC_RETRY_EXC_ERR, or the "+
				"text of ibv_wc_status_str", clip(f["status"]), len(statuses)-1)
		}
	case f["syndrome"] != "":
		n, err := strconv.ParseUint(f["syndrome"], 0, 8)
		if err != nil {
			return Explanation{}, fmt.Errorf("syndrome %q: want a number of one byte, such as 0x15",
				clip(f["syndrome"]))
		}
		return explainSyndrome(uint8(n), f)
	default:
		var ok bool
		if s, ok = StatusByText(text); !ok {
			return explainVendorAlone(f)
		}
	}
	e, err := explainStatus(s, f)
	if err != nil {
		return Explanation{}, err
	}
	if named, ok := statusNamed(text); ok && named.Number != s.Number {
		e.doubt("the line names %s, but has the number %d", named.Name, s.Number)
	}
	if n, err := strconv.ParseUint(f["syndrome"], 0, 8); err == nil {
		e.add("syndrome", "0x%02x", n)
		if by, known := StatusBySyndrome(uint8(n)); known && by.Number != s.Number {
			e.doubt("syndrome 0x%02x is that of status %s", n, by)
		}
	}
	return e, nil
}

// statusNamed returns the status whose constant a text has.
func statusNamed(text string) (WorkStatus, bool) {
	w := words(text)
	for _, s := range statuses {
		if hasPhrase(w, strings.TrimPrefix(words(s.Name), "ibv ")) {
			return s, true
		}
	}
	return WorkStatus{}, false
}

func explainSyndrome(n uint8, f fields) (Explanation, error) {
	s, known := StatusBySyndrome(n)
	if f["driver"] == "" {
		f["driver"] = "mlx5"
	}
	e, err := explainStatus(s, f)
	if err != nil {
		return Explanation{}, err
	}
	e.add("syndrome", "0x%02x", n)
	if !known {
		e.doubt("syndrome 0x%02x is not in the driver's table, which reports it as a general error", n)
	}
	return e, nil
}

func explainStatus(s WorkStatus, f fields) (Explanation, error) {
	e := Explanation{
		Kind: "status", Title: "status " + s.String(), Meaning: s.Meaning, Who: s.Who, Causes: s.Causes,
	}
	e.from(statusSources...)
	e.from(statusThreads[s.Number]...)
	err := e.vendor(f, s.Number)
	return e, err
}

// explainVendorAlone explains a vendor code without a status.
func explainVendorAlone(f fields) (Explanation, error) {
	e := Explanation{
		Kind: "vendor", Title: "vendor code " + f["vendor"],
		Meaning: "The driver's own code; without the status of the completion it says little.",
	}
	e.doubt("no status is given: add status=")
	err := e.vendor(f, StatusUnknown)
	return e, err
}

// vendor adds the meanings of the vendor code, if there is one.
func (e *Explanation) vendor(f fields, status int) error {
	code, driver := f["vendor"], f["driver"]
	if driver != "" {
		d, ok := DriverOf(driver)
		if !ok {
			return fmt.Errorf("driver %q: want one of %s", clip(driver), joined(Drivers()))
		}
		driver = d
	}
	if code == "" {
		return nil
	}
	base := BaseOf(f["program"])
	if f["program"] != "" && base == BaseUnknown {
		return fmt.Errorf("program %q: want one of nccl, rccl, ucx, nixl, perftest, kernel", clip(f["program"]))
	}
	list, err := VendorText(driver, code, base, status)
	if err != nil {
		return err
	}
	for i, r := range list {
		if i > 0 {
			e.doubt("%q can be decimal or hexadecimal: the other reading is 0x%x; program= of nccl, ucx, perftest or "+
				"kernel decides", code, r.Value)
		}
		e.reading(r, driver, len(list) > 1)
	}
	if driver == "" {
		e.doubt("vendor codes are the driver's own: give driver=, one of %s", joined(Drivers()))
	}
	return nil
}

// reading adds one reading of a vendor code.
func (e *Explanation) reading(r VendorReading, driver string, several bool) {
	name := fmt.Sprintf("vendor code %d (0x%x)", r.Value, r.Value)
	if several {
		name += map[Base]string{BaseDecimal: ", read as decimal", BaseHexadecimal: ", read as hexadecimal"}[r.Base]
	}
	if len(r.Meanings) == 0 {
		e.add(name, "not in the tables of this version")
		if driver != "" {
			e.doubt("0x%x is larger than the field of %s", r.Value, driver)
		}
	}
	contradicted := len(r.Meanings) > 0
	for _, m := range r.Meanings {
		text := m.Driver + ": " + m.Meaning
		if m.Name != "" {
			text += " (" + m.Name + ")"
		}
		if m.Fit != FitUnknown {
			text += "; " + m.Fit.String() + " the status"
		}
		e.add(name, "%s", text)
		if m.Fit != FitNo {
			e.from(m.Source)
			contradicted = false
		}
	}
	if contradicted && driver != "" && !several {
		e.doubt("vendor code 0x%x does not fit the status: are both from one completion, and is the base right?",
			r.Value)
	}
}

// explainKernelQP explains "QP 137 error: TEXT (0xVENDOR 0xTYPE 0xHW)" of mlx5_ib. The kernel takes
// the text from its table of statuses, but with the syndrome as the index: the text is wrong from
// syndrome 0x10 on (mlx5_ib_qp_err_syndrome in drivers/infiniband/hw/mlx5/qp.c).
func explainKernelQP(f fields) (Explanation, error) {
	text, numbers, _ := strings.Cut(f["kernelqp"], "(")
	text = strings.TrimSpace(text)
	parts := strings.Fields(strings.Trim(numbers, ")"))
	g := fields{"vendor": parts[0], "driver": "mlx5"}
	s, ok := StatusByText(text)
	if !ok {
		e, err := explainVendorAlone(g)
		e.Ambiguities = nil
		e.doubt("the kernel prints %q for syndromes from 0x16 on: RNR retries exceeded (0x16), aborted (0x22) or "+
			"others", text)
		e.add("hardware syndrome", "%s/%s (type/syndrome)", parts[1], parts[2])
		return e, err
	}
	e, err := explainSyndrome(uint8(s.Number), g)
	if uint8(s.Number) >= 0x10 {
		e.doubt("the kernel's text %q is wrong: it takes syndrome 0x%02x for a status number", text, s.Number)
	}
	e.add("hardware syndrome", "%s/%s (type/syndrome)", parts[1], parts[2])
	e.from("Linux, mlx5_ib_qp_err_syndrome in drivers/infiniband/hw/mlx5/qp.c")
	return e, err
}
