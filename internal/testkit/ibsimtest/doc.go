// Package ibsimtest starts Debian's ibsim and OpenSM for tests. Each simulator has a unique socket
// name and ends with the test.
//
//	net := ibsimtest.Start(t, "testdata/ft2/net")
//	conn, err := ibsim.Dial(t.Context(), net.Config("host0"))
package ibsimtest
