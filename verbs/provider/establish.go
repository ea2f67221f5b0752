package provider

// Establish moves a queue pair from state RESET or INIT to RTS, with one Modify for each step. Mask
// and State of attr are set here: the attributes that each transition requires. In INIT, these
// attributes are set again.
func Establish(qp QueuePair, attr QPAttributes) error {
	for _, to := range []QPState{QPStateInit, QPStateRTR, QPStateRTS} {
		attr.State = to
		attr.Mask, _, _ = TransitionAttributes(qp.Type(), to-1, to)
		if err := qp.Modify(attr); err != nil {
			return err
		}
	}
	return nil
}
