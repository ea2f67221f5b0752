// Package posix has the error numbers of Linux and their texts, which programs print without the
// number.
//
//	posix.Errno("modify_qp failed: Connection timed out") // "110"
package posix

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Errno returns the number of the error in a text, in decimal: the number itself after "errno" or
// "error=", or that of a text of the C library. 115 (in progress) is never the result of a call
// that has ended. "" if there is none.
func Errno(s string) string {
	for _, mark := range [...]string{
		" errno ", "errno=", "errno: ", "error=", "err=", "[errno ", "(errno ", "errno = ", "error code: ",
	} {
		_, rest, ok := strings.Cut(s, mark)
		if !ok {
			continue
		}
		rest = strings.TrimLeft(rest, "-")
		end := 0
		for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
			end++
		}
		if end > 0 && rest[:end] != "115" && rest[:end] != "0" {
			return rest[:end]
		}
	}
	return FromText(s)
}

// FromText returns the number of the first text of the C library in s, also with a small letter at
// its beginning as Go prints it; "" if there is none.
func FromText(s string) string {
	best, number := len(s), 0
	for n, text := range texts {
		i := strings.Index(s, text[1:]) - 1
		if i < 0 || s[i] != text[0] && s[i] != text[0]|' ' {
			continue
		}
		if i < best || i == best && len(text) > len(texts[number]) {
			best, number = i, n
		}
	}
	if number == 0 {
		return ""
	}
	return strconv.Itoa(number)
}

// Texts returns the texts that [FromText] knows, ordered by number, each also as Go prints it,
// without those that say too little in a line of any program: no such file, invalid argument, and
// resource temporarily unavailable.
func Texts() []string {
	var list []string
	for _, n := range slices.Sorted(maps.Keys(texts)) {
		if n != 2 && n != 22 && n != 11 {
			list = append(list, texts[n], strings.ToLower(texts[n][:1])+texts[n][1:])
		}
	}
	return list
}

// texts are those of strerror(3) of glibc for errors that verbs and sockets return.
var texts = map[int]string{
	1:   "Operation not permitted",
	2:   "No such file or directory",
	5:   "Input/output error",
	6:   "No such device or address",
	9:   "Bad file descriptor",
	11:  "Resource temporarily unavailable",
	12:  "Cannot allocate memory",
	13:  "Permission denied",
	14:  "Bad address",
	16:  "Device or resource busy",
	19:  "No such device",
	22:  "Invalid argument",
	23:  "Too many open files in system",
	24:  "Too many open files",
	28:  "No space left on device",
	32:  "Broken pipe",
	38:  "Function not implemented",
	61:  "No data available",
	71:  "Protocol error",
	93:  "Protocol not supported",
	95:  "Operation not supported",
	97:  "Address family not supported by protocol",
	98:  "Address already in use",
	99:  "Cannot assign requested address",
	100: "Network is down",
	101: "Network is unreachable",
	103: "Software caused connection abort",
	104: "Connection reset by peer",
	105: "No buffer space available",
	107: "Transport endpoint is not connected",
	110: "Connection timed out",
	111: "Connection refused",
	112: "Host is down",
	113: "No route to host",
	121: "Remote I/O error",
}
