package verbs

import "testing"

func TestNextState(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ibv_modify_qp RTR -> RTS: Invalid argument": "RTS",
		"Failed to modify QP to RTR":                 "RTR",
		"could not modify qp from INIT to RTR":       "RTR",
		"modify_qp_to_rts: errno 22":                 "RTS",
		"init_connection_modify_qp: no":              "",
		"modify QP to init failed":                   "INIT",
		"ibv_modify_qp(INIT) failed":                 "INIT",
		"sort of RTSP":                               "",
		"":                                           "",
	} {
		if got := nextState(text); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}
