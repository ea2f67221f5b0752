package codes

import (
	"fmt"
	"strconv"
)

func eventOf(text string) (Explanation, error) {
	if n, err := strconv.Atoi(text); err == nil {
		if e, ok := EventByNumber(n); ok {
			return explainEvent(e), nil
		}
	} else if e, ok := EventByText(text); ok {
		return explainEvent(e), nil
	}
	return Explanation{}, fmt.Errorf("event %q: want 0 to %d, a name such as IBV_EVENT_PORT_ERR, or the text of "+
		"ibv_event_type_str", clip(text), len(events)-1)
}

func explainEvent(v Event) Explanation {
	e := Explanation{
		Kind: "event", Title: fmt.Sprintf("event %d (%s, %s)", v.Number, v.Name, v.Text), Meaning: v.Meaning,
		Causes: v.Causes,
	}
	e.add("of", "%s", v.Of)
	e.add("effect", "%s", v.Harm)
	for _, t := range v.NCCL {
		e.add("NCCL "+between(t), "%s", t.Text)
	}
	e.from("rdma-core, libibverbs/verbs.h and enum_strs.c", "ibv_get_async_event(3)", "NCCL, src/transport/net_ib")
	return e
}

// between writes the releases of a text: "until 2.22", "2.23 to 2.27", "since 2.28".
func between(t VersionText) string {
	switch {
	case t.From == "":
		return "until " + t.To
	case t.To == "":
		return "since " + t.From
	}
	return t.From + " to " + t.To
}

func explainAETH(text string) (Explanation, error) {
	n, err := strconv.ParseUint(text, 0, 8)
	if err != nil {
		return Explanation{}, fmt.Errorf("aeth %q: want the syndrome byte, such as 0x60", clip(text))
	}
	a := AETHSyndrome(uint8(n))
	e := Explanation{Kind: "aeth", Title: fmt.Sprintf("AETH syndrome 0x%02x (%s)", n, a.Name), Meaning: a.Meaning}
	if s, ok := Status(a.Status); ok {
		e.Who, e.Causes = s.Who, s.Causes
		e.add("status if retries don't help", "%s", s)
	}
	e.from("InfiniBand Architecture Specification volume 1, section 9.7.5.1")
	return e, nil
}

func explainEnumeration(enum Enumeration, text string) (Explanation, error) {
	if n, err := strconv.ParseInt(text, 0, 32); err == nil {
		if v, ok := enum.Value(int(n)); ok {
			return explainValue(enum, v), nil
		}
	} else if v, ok := enum.ByName(text); ok && v.Name != "" {
		return explainValue(enum, v), nil
	}
	first, last := enum.Values[0], enum.Values[len(enum.Values)-1]
	return Explanation{}, fmt.Errorf("%s %q: want %d to %d or a name such as %s", enum.Key, clip(text), first.Number,
		last.Number, orNumber(last))
}

func explainValue(enum Enumeration, v Value) Explanation {
	e := Explanation{Kind: enum.Key, Title: fmt.Sprintf("%s %d", enum.Title, v.Number), Meaning: v.Meaning}
	if v.Name != "" {
		e.Title += " (" + v.Name + ")"
	}
	e.from(enum.Source)
	return e
}

func orNumber(v Value) string {
	if v.Name == "" {
		return strconv.Itoa(v.Number)
	}
	return v.Name
}

// explainSockets explains the line in which NCCL refuses a connection of another type: first the
// peer's, then its own (socketFinalizeAccept of src/misc/socket.cc).
func explainSockets(text string) Explanation {
	list, _ := EnumerationByKey("nccl_socket")
	peer, _ := list.Value(int(text[0] - '0'))
	own, _ := list.Value(int(text[len(text)-1] - '0'))
	e := Explanation{
		Kind: "nccl_socket", Title: "connection of another type: " + text, Who: WhoEither,
		Meaning: "A peer connected for another purpose than this node listens for.",
	}
	e.add("peer", "%s: %s", orNumber(peer), peer.Meaning)
	e.add("this node", "%s: %s", orNumber(own), own.Meaning)
	if peer.Number+own.Number == 7 && (peer.Number == 3 || own.Number == 3) {
		e.Meaning = "One node uses InfiniBand or RoCE, the other TCP."
		e.Causes = []string{
			"the node that uses TCP found no usable device: look for \"NET/IB : No device found\" in its log",
			"the environment (NCCL_IB_DISABLE, NCCL_NET, NCCL_IB_HCA) or a plugin differs between the nodes",
		}
	}
	e.from(list.Source)
	return e
}
