// Package ibsimtest starts Debian's ibsim and OpenSM for tests: each simulator under a socket name
// of its own, and gone when the test ends.
//
//	net := ibsimtest.Start(t, "testdata/ft2/net")
//	conn, err := ibsim.Dial(t.Context(), net.Config("host0"))
package ibsimtest
