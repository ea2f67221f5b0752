package remote

import "strings"

// statusSSH is the exit status of ssh for errors of its own.
const statusSSH = 255

// sshText is a text of ssh that names a cause: all parts occur in one line, in this order.
type sshText struct {
	parts []string
	kind  Kind
}

// sshTexts are texts of OpenSSH, the most specific ones first, as in its files sshconnect.c,
// sshconnect2.c, ssh.c, readconf.c, packet.c, kex.c, channels.c and clientloop.c from 7.4 to 10.5.
// They are not translated: ssh sets LC_CTYPE only.
func sshTexts() []sshText {
	return []sshText{
		{[]string{"Host key for ", " has changed and you have requested strict checking"}, KindHostKeyChanged},
		{[]string{"host key for ", " was revoked and you have requested strict checking"}, KindHostKeyChanged},
		{[]string{"No ", " host key is known for ", "strict checking"}, KindHostKeyUnknown},
		{[]string{"Host key verification failed."}, KindHostKeyUnknown},
		{[]string{": Permission denied ("}, KindDenied},
		{[]string{"Too many authentication failures"}, KindDenied},
		{[]string{"Could not resolve hostname "}, KindUnknownHost},
		{[]string{"hostname contains invalid characters"}, KindConfig},
		{[]string{"connect to host ", ": Connection refused"}, KindRefused},
		{[]string{"connect to host ", " timed out"}, KindTimeout},
		{[]string{"connect to host "}, KindNoRoute},
		{[]string{"open failed: "}, KindJump},
		{[]string{"stdio forwarding failed"}, KindJump},
		{[]string{"timed out during banner exchange"}, KindTimeout},
		{[]string{"Connection to ", " timed out"}, KindTimeout},
		{[]string{"Unable to negotiate with "}, KindNegotiation},
		{[]string{"not in HostKeyAlgorithms"}, KindNegotiation},
		{[]string{"Bad server host key"}, KindNegotiation},
		{[]string{"Bad configuration option"}, KindConfig},
		{[]string{"Bad owner or permissions on "}, KindConfig},
		{[]string{"Can't open user config file "}, KindConfig},
		{[]string{"bad configuration options"}, KindConfig},
		{[]string{"kex_exchange_identification: "}, KindClosed},
		{[]string{"banner exchange: "}, KindClosed},
		{[]string{"Connection closed by "}, KindClosed},
		{[]string{"Connection reset by "}, KindClosed},
	}
}

// noAddress is what ssh prints for the address of a server behind a ProxyCommand, which a jump host
// is too (ssh_remote_ipaddr and ssh_remote_port in packet.c).
const noAddress = "UNKNOWN port 65535"

// explainSSH finds the cause in the standard error of ssh, which may have other text, and the line
// with it. The programs that connect to jump hosts write to the same stream: if the connection ends
// without an address, a cause before that is theirs.
func explainSSH(stderr string) (Kind, string) {
	texts := sshTexts()
	best := len(texts)
	text := lastLine(strings.TrimSpace(stderr))
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		for i, t := range texts[:best] {
			if t.in(line) {
				best, text = i, line
				break
			}
		}
	}
	if best == len(texts) {
		return KindSSH, text
	}
	kind := texts[best].kind
	if kind != KindClosed && strings.Contains(stderr, noAddress) {
		kind = KindJump
	}
	return kind, text
}

// in reports whether a line has all parts in their order.
func (t sshText) in(line string) bool {
	for _, part := range t.parts {
		_, after, ok := strings.Cut(line, part)
		if !ok {
			return false
		}
		line = after
	}
	return true
}
