package fabric_test

import (
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// TestSilence: what a silence could mean depends on the class and on what was tried.
func TestSilence(t *testing.T) {
	const dead, partition, grh = "the node is dead", "no common partition (P_Key)", "it requires a GRH"
	const before = "the node answered before: it has stopped, or the datagrams are lost on the way"
	for _, test := range []struct {
		silence fabric.Silence
		want    []string
	}{
		{fabric.Silence{Class: mad.ClassSubnetDirected}, []string{
			dead, "it has an M_Key of protect level 2 or 3 (M_Key 0 was tried)",
		}},
		{fabric.Silence{Class: mad.ClassSubnet, Keys: []uint64{0}}, []string{
			dead, "it has an M_Key of protect level 2 or 3 (M_Key 0 was tried)",
		}},
		{fabric.Silence{Class: mad.ClassSubnetDirected, Keys: []uint64{7}, Own: true}, []string{
			"the local device doesn't answer",
			"it has an M_Key of protect level 2 or 3 (the given M_Key was tried)",
		}},
		{fabric.Silence{Class: mad.ClassSubnetDirected, Keys: []uint64{7, 8, 0}}, []string{
			dead, "it has an M_Key of protect level 2 or 3 (3 M_Keys were tried)",
		}},
		{fabric.Silence{Class: mad.ClassSubnetDirected, Answered: true}, []string{before}},
		{fabric.Silence{Class: mad.ClassPerformance, Keys: []uint64{9}, Answered: true}, []string{
			"the node answers subnet management, but its performance agent has another PM_Key " +
				"(the given PM_Key was tried)",
			partition, grh,
		}},
		{fabric.Silence{Class: mad.ClassPerformance, Address: fabric.Address{HasGRH: true}}, []string{
			dead, "its performance agent has another PM_Key (PM_Key 0 was tried)", partition,
		}},
		{fabric.Silence{Class: 0x0a, Answered: true}, []string{
			"it doesn't have the class, or isn't NVIDIA's",
			"it has another VS_Key (VS_Key 0 was tried)", partition, grh,
		}},
		{fabric.Silence{Class: mad.ClassPing}, []string{
			dead, `no server runs there ("rdmactl fabric ping --server" or ibping -S)`, partition, grh,
		}},
		{fabric.Silence{Class: mad.ClassPing, Sent: &fabric.Sent{GRH: true}}, []string{
			dead, `no server runs there ("rdmactl fabric ping --server" or ibping -S)`, partition,
		}},
		{fabric.Silence{Class: mad.ClassPing, Sent: &fabric.Sent{TableRead: true}}, []string{
			`no server runs there ("rdmactl fabric ping --server" or ibping -S)`, grh,
		}},
		{fabric.Silence{Class: mad.ClassPing, Sent: &fabric.Sent{TableRead: true, Disjoint: true, GRH: true}}, []string{
			"the port is in no partition with this one",
			`no server runs there ("rdmactl fabric ping --server" or ibping -S)`,
		}},
		{fabric.Silence{Class: 0x0a, Sent: &fabric.Sent{TableRead: true, Outside: true, PKey: 0x8001}}, []string{
			"the port doesn't accept P_Key 0x8001, but another one that this port has",
			"it doesn't have the class, or isn't NVIDIA's", "it has another VS_Key (VS_Key 0 was tried)", grh,
		}},
		{fabric.Silence{Class: mad.ClassSA}, []string{dead, "no subnet manager runs there", partition, grh}},
	} {
		got := test.silence.Causes()
		if strings.Join(got, "; ") != strings.Join(test.want, "; ") {
			t.Errorf("%+v:\n%q\nwant\n%q", test.silence, got, test.want)
		}
	}
}
