package doctor_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/inventory"
)

// TestHTMLCounts compares the counts of the page: those of its parts add up to those of its head,
// which are checks, and not findings.
func TestHTMLCounts(t *testing.T) {
	in := node()
	ports := func(outcome doctor.Outcome, text string) (list []doctor.Finding) {
		for i := range 3 {
			f := found(outcome, fmt.Sprintf("mlx5_%d:1", i))
			f.Summary = strings.ReplaceAll(text, "N", strconv.Itoa(i))
			list = append(list, f)
		}
		return list
	}
	in.Snapshot.Devices = nil
	for i := range 3 {
		in.Snapshot.Devices = append(in.Snapshot.Devices,
			inventory.Device{Name: fmt.Sprintf("mlx5_%d", i), Ports: []inventory.Port{{Number: 1}}})
	}
	of := func(id string, g doctor.Group, findings ...doctor.Finding) doctor.Check {
		c := giving(id, findings...)
		c.Group = g
		return c
	}
	pass, absent := doctor.Passed("", "the others are well"), doctor.NotApplicable("", "no GPU")
	r := run(t, in, doctor.Options{Shadow: []string{"trial"}, Suppressions: []doctor.Suppression{
		{CheckID: "muted", Object: "mlx5_0:1", Reason: "spare"}, {CheckID: "muted"},
	}},
		of("fails", doctor.GroupLink, append(ports(doctor.OutcomeFail, "link is bad"), pass)...),
		of("passes", doctor.GroupLink, doctor.Passed("mlx5_0:1", "well"), doctor.Passed("mlx5_1:1", "good")),
		of("unread", doctor.GroupHost, append(ports(doctor.OutcomeUnknown, "can't read /sys/mlx5_N/x"), pass)...),
		of("absent", doctor.GroupHost, ports(doctor.OutcomeNotApplicable, "/sys/mlx5_N/y does not exist")...),
		of("absent2", doctor.GroupHost, absent), of("muted", doctor.GroupHost, append(ports(doctor.OutcomeWarn,
			"mlx5_N is slow"), pass)...),
		of("trial", doctor.GroupQoS, ports(doctor.OutcomeWarn, "mlx5_N is odd")...))
	data, err := r.HTML(doctor.PageInput{})
	if err != nil {
		t.Fatal(err)
	}
	sum := map[string]int{}
	for i, part := range strings.Split(string(data), "<p class=\"counts\">")[1:] {
		part, _, _ = strings.Cut(part, "</p>")
		for _, m := range regexp.MustCompile(`>(\d+) ([^<]+)<`).FindAllStringSubmatch(part, -1) {
			n, _ := strconv.Atoi(m[1])
			if i > 0 {
				n = -n
			}
			sum[m[2]] += n
		}
	}
	if len(sum) != 6 {
		t.Errorf("%d counts, want those of 6 outcomes: %v", len(sum), sum)
	}
	for name, n := range sum {
		if n != 0 {
			t.Errorf("%s: the head has %d more than the parts", name, n)
		}
	}
	if strings.Contains(string(data), ">0 passed<") {
		t.Error("the page lists what passed in a part without a check that passed")
	}
	text := strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(string(data), " ")), " ")
	for _, want := range []string{
		"mlx5_0:1, mlx5_1:1, mlx5_2:1 : link is bad pass : the others are well",
		"mlx5_0:1, mlx5_1:1, mlx5_2:1 : can&#39;t read /sys/*/x pass : the others are well",
		"/sys/*/y does not exist (absent)",
		"muted mlx5_0:1 : mlx5_0 is slow (suppressed: spare)",
		"muted mlx5_1:1, mlx5_2:1 : mlx5_1, mlx5_2 is slow (suppressed)",
		"trial mlx5_0:1, mlx5_1:1, mlx5_2:1 : mlx5_0, mlx5_1, mlx5_2 is odd",
		"1 passed passes : well passes : good",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q in\n%s", want, text)
		}
	}
}

// TestHTMLFolds has a fault of many objects: the page folds their names and the evidence.
func TestHTMLFolds(t *testing.T) {
	for n, folded := range map[int]bool{11: false, 17: true} {
		var findings []doctor.Finding
		for i := range n {
			f := found(doctor.OutcomeInfo, fmt.Sprintf("hlib_%d:1", i))
			f.Summary, f.Evidence = "odd", []doctor.Evidence{{Path: fmt.Sprintf("/sys/%d", i), Value: "1"}}
			findings = append(findings, f)
		}
		data, err := run(t, node(), doctor.Options{}, giving("a", findings...)).HTML(doctor.PageInput{})
		if err != nil {
			t.Fatal(err)
		}
		page := string(data)
		for text, want := range map[string]bool{
			"hlib_0:1, hlib_1:1, hlib_2:1, hlib_3:1, hlib_4:1, hlib_5:1, … hlib_16:1 (17)</b>": folded,
			"<summary>7 more values</summary><pre>/sys/10 = 1\n":                               folded,
			fmt.Sprintf("hlib_%d:1</b></bdi>: odd</li>", n-1):                                  !folded,
			fmt.Sprintf("/sys/%d = 1</pre>", n-1):                                              true,
			fmt.Sprintf(", hlib_%d:1<", n-1):                                                   true,
		} {
			if strings.Contains(page, text) != want {
				t.Errorf("%d objects: the page has %q: %v, want %v", n, text, !want, want)
			}
		}
	}
}
