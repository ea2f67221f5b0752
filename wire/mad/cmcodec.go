package mad

// NewCM returns the header of a message of the communication manager.
func NewCM(a Attribute, tid uint64) Header {
	return newHeader(ClassCM, CMClassVersion, MethodSend, a, 0, tid)
}

// readCM reads the header of a message and returns a cursor for the rest. Types call their walk
// themselves: through an interface, the cursor would be allocated.
func readCM(b []byte, h *Header) (cursor, error) {
	if len(b) < Len {
		return cursor{}, ErrShort
	}
	n, _ := h.Decode(b) // the length has been checked
	return cursor{in: b[n:Len]}, nil
}

func writeCM(b []byte, h *Header) cursor { return cursor{out: h.Append(b), writing: true} }

// Decode reads a message from the first [Len] bytes of b.
func (m *REQ) Decode(b []byte) (n int, err error) {
	c, err := readCM(b, &m.Header)
	if err != nil {
		return 0, err
	}
	m.walk(&c)
	return Len, nil
}

// Append appends the message to b.
func (m *REQ) Append(b []byte) []byte {
	c := writeCM(b, &m.Header)
	m.walk(&c)
	return c.out
}

// Decode reads a message from the first [Len] bytes of b.
func (m *MRA) Decode(b []byte) (n int, err error) {
	c, err := readCM(b, &m.Header)
	if err != nil {
		return 0, err
	}
	m.walk(&c)
	return Len, nil
}

// Append appends the message to b.
func (m *MRA) Append(b []byte) []byte {
	c := writeCM(b, &m.Header)
	m.walk(&c)
	return c.out
}

// Decode reads a message from the first [Len] bytes of b.
func (m *REJ) Decode(b []byte) (n int, err error) {
	c, err := readCM(b, &m.Header)
	if err != nil {
		return 0, err
	}
	m.walk(&c)
	return Len, nil
}

// Append appends the message to b.
func (m *REJ) Append(b []byte) []byte {
	c := writeCM(b, &m.Header)
	m.walk(&c)
	return c.out
}

// Decode reads a message from the first [Len] bytes of b.
func (m *REP) Decode(b []byte) (n int, err error) {
	c, err := readCM(b, &m.Header)
	if err != nil {
		return 0, err
	}
	m.walk(&c)
	return Len, nil
}

// Append appends the message to b.
func (m *REP) Append(b []byte) []byte {
	c := writeCM(b, &m.Header)
	m.walk(&c)
	return c.out
}

// Decode reads a message from the first [Len] bytes of b.
func (m *RTU) Decode(b []byte) (n int, err error) {
	c, err := readCM(b, &m.Header)
	if err != nil {
		return 0, err
	}
	m.walk(&c)
	return Len, nil
}

// Append appends the message to b.
func (m *RTU) Append(b []byte) []byte {
	c := writeCM(b, &m.Header)
	m.walk(&c)
	return c.out
}

// Decode reads a message from the first [Len] bytes of b.
func (m *DREQ) Decode(b []byte) (n int, err error) {
	c, err := readCM(b, &m.Header)
	if err != nil {
		return 0, err
	}
	m.walk(&c)
	return Len, nil
}

// Append appends the message to b.
func (m *DREQ) Append(b []byte) []byte {
	c := writeCM(b, &m.Header)
	m.walk(&c)
	return c.out
}

// Decode reads a message from the first [Len] bytes of b.
func (m *DREP) Decode(b []byte) (n int, err error) {
	c, err := readCM(b, &m.Header)
	if err != nil {
		return 0, err
	}
	m.walk(&c)
	return Len, nil
}

// Append appends the message to b.
func (m *DREP) Append(b []byte) []byte {
	c := writeCM(b, &m.Header)
	m.walk(&c)
	return c.out
}

// Decode reads a message from the first [Len] bytes of b.
func (m *LAP) Decode(b []byte) (n int, err error) {
	c, err := readCM(b, &m.Header)
	if err != nil {
		return 0, err
	}
	m.walk(&c)
	return Len, nil
}

// Append appends the message to b.
func (m *LAP) Append(b []byte) []byte {
	c := writeCM(b, &m.Header)
	m.walk(&c)
	return c.out
}

// Decode reads a message from the first [Len] bytes of b.
func (m *APR) Decode(b []byte) (n int, err error) {
	c, err := readCM(b, &m.Header)
	if err != nil {
		return 0, err
	}
	m.walk(&c)
	return Len, nil
}

// Append appends the message to b.
func (m *APR) Append(b []byte) []byte {
	c := writeCM(b, &m.Header)
	m.walk(&c)
	return c.out
}

// Decode reads a message from the first [Len] bytes of b.
func (m *SIDRREQ) Decode(b []byte) (n int, err error) {
	c, err := readCM(b, &m.Header)
	if err != nil {
		return 0, err
	}
	m.walk(&c)
	return Len, nil
}

// Append appends the message to b.
func (m *SIDRREQ) Append(b []byte) []byte {
	c := writeCM(b, &m.Header)
	m.walk(&c)
	return c.out
}

// Decode reads a message from the first [Len] bytes of b.
func (m *SIDRREP) Decode(b []byte) (n int, err error) {
	c, err := readCM(b, &m.Header)
	if err != nil {
		return 0, err
	}
	m.walk(&c)
	return Len, nil
}

// Append appends the message to b.
func (m *SIDRREP) Append(b []byte) []byte {
	c := writeCM(b, &m.Header)
	m.walk(&c)
	return c.out
}
