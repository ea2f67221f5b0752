// Package providertest is the conformance suite of the interface in package provider: it checks
// that a provider's devices behave as the interface, libibverbs' manual pages and the InfiniBand
// specification say. It uses nothing but the interface, so it runs on an engine in user space, over
// a simulated network, and on a kernel's or a card's devices alike.
//
// A test of a provider calls [Run]:
//
//	func TestConformance(t *testing.T) {
//		providertest.Run(t, func(t testing.TB) providertest.Pair {
//			a, err := roce.Provider{}.Open(t.Context(), "roce@127.0.0.1")
//			if err != nil {
//				t.Fatal(err)
//			}
//			b, err := roce.Provider{}.Open(t.Context(), "roce@127.0.0.2")
//			if err != nil {
//				t.Fatal(err)
//			}
//			return providertest.Connect(t, a, b) // or Connect(t, a, a): a device used with itself
//		}, providertest.Options{Capabilities: provider.CapRC | provider.CapInline})
//	}
//
// # Rules
//
// Each rule is a subtest SUBJECT/RULE and gets devices of its own, which it closes; an object that
// is still open then is a failure. A rule that takes longer than [Options].Limit fails with the
// stacks of all goroutines, so that nothing hangs. Sources are cited where a rule is: "section" is
// one of the InfiniBand Architecture Specification, volume 1; a name such as ibv_poll_cq is the
// manual page.
//
// Rules of features that a device doesn't announce are listed as not applicable, with the
// capability, by the subtest not-applicable; that the device rejects these features is a rule too.
// In -short mode, and over a lossy network, messages are shorter and queue pairs fewer.
//
// Queue pairs are connected by exchange of numbers, with [Options].ByConnector by the device's
// Connector: iWARP devices have no other way. Rules that set attributes or states themselves are
// then listed as not applicable, too. The first end dials, and sends first. No rule is skipped for
// another reason.
//
// # Known faults
//
// A fault that a provider can't fix, such as one of a driver, is declared: see [Fault]. The rule
// must then fail, so that no declaration outlives its fault.
//
// # Limits
//
// The suite needs one process that has both devices. It doesn't check what only packets show (see
// the tests of package roce), the speed, and memory that Go doesn't manage
// (AddressRegistrar, DMABufRegistrar). Memory regions are ordinary Go memory.
package providertest
