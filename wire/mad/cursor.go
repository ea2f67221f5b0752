package mad

// cursor reads or writes the fields of a message one after another, so that one list of fields
// serves both directions. The zero value writes nothing; the caller has checked the length of what
// is read.
type cursor struct {
	in      []byte // what remains to be read
	out     []byte // what has been written
	writing bool
	bits    uint64 // the last count bits are read and not used, or not yet written
	count   int
}

// number reads or writes an unsigned integer, first bit first. An integer of 64 bits begins at a
// byte.
func number[T ~uint8 | ~uint16 | ~uint32 | ~uint64](c *cursor, width int, v *T) {
	mask := uint64(1)<<width - 1
	if c.writing {
		c.bits = c.bits<<width | uint64(*v)&mask
		for c.count += width; c.count >= 8; {
			c.count -= 8
			c.out = append(c.out, byte(c.bits>>c.count))
		}
		return
	}
	for ; c.count < width; c.count += 8 {
		c.bits = c.bits<<8 | uint64(c.in[0])
		c.in = c.in[1:]
	}
	c.count -= width
	*v = T(c.bits >> c.count & mask)
}

// flag reads or writes one bit.
func (c *cursor) flag(v *bool) {
	bit := flag(*v, 1)
	number(c, 1, &bit)
	*v = bit != 0
}

// bytes reads or writes bytes, which begin at a byte.
func (c *cursor) bytes(v []byte) {
	if c.writing {
		c.out = append(c.out, v...)
		return
	}
	c.in = c.in[copy(v, c.in):]
}
