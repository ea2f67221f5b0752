package hostlist

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// maxName is the longest name of a host in the DNS, in bytes; a user may precede it.
const maxName = 253

// CheckName returns why a text is not the name of a host as [Parse] returns them, with or without
// user@, or nil. Brackets and commas are not allowed.
func CheckName(name string) error {
	_, err := checkText(name)
	if err == nil {
		err = checkName(name)
	}
	if err != nil {
		return fmt.Errorf("host %s: %w", clip(name), err)
	}
	return nil
}

// checkText returns a cause and its offset if a text may not be part of a name.
func checkText(text string) (int, error) {
	for i, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("-._@:", r):
		case r == ' ' || r == '\t':
			return i, errors.New("blank in a name; commas separate names")
		default:
			return i, fmt.Errorf("character %q is not allowed in a name", r)
		}
	}
	return 0, nil
}

// checkName returns why a name of allowed characters is none.
func checkName(name string) error {
	user, host, ok := strings.Cut(name, "@")
	switch {
	case !ok:
		host = name
	case user == "":
		return errors.New("no user before @")
	case user[0] == '-':
		return fmt.Errorf("user %s begins with a hyphen, as an option does", clip(user))
	case strings.Contains(user, ":"):
		return errors.New("colon before @; a name has no password and no connection type")
	case strings.Contains(host, "@"):
		return errors.New("more than one @")
	}
	switch {
	case host == "":
		return errors.New("no name of a host")
	case host[0] == '-':
		return fmt.Errorf("name %s begins with a hyphen, as an option does", clip(host))
	case host[0] == '.':
		return fmt.Errorf("name %s begins with a dot", clip(host))
	case len(host) > maxName:
		return fmt.Errorf("name of more than %d characters", maxName)
	case len(user) > maxName:
		return fmt.Errorf("user of more than %d characters", maxName)
	case strings.Contains(host, ":"):
		if _, err := netip.ParseAddr(host); err != nil {
			return fmt.Errorf("%s has a colon, but is no IPv6 address; names have no ports", clip(host))
		}
	}
	return nil
}
