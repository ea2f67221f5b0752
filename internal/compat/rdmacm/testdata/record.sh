#!/bin/sh
# Records what rping, ucmatose and cmtime of Debian's rdmacm-utils 44 print about options, on a machine
# without RDMA devices: sh record.sh > options.txt
record() {
	"$@" >out 2>err
	code=$?
	echo "$ $*"
	sed 's/^/stdout: /' out
	sed 's/^/stderr: /' err
	echo "exit code $code"
}
cd "$(mktemp -d)" || exit
record rping
record rping -h
record rping --help
record rping -s -x
record rping -t 5 -s
record rping -a
record rping -s -S 5
record rping -s -S 22
record rping -s -S 23
record rping -s -S 65535
record rping -s -S 65536
record rping -s -S 0x40 -d
record rping -s -S abc
record rping -c -C -1
record rping -c -a nosuch.invalid
record rping -c -a nosuch.invalid -a 127.0.0.1
record rping -s -a nosuch.invalid -S 3
record rping -s -I nosuch.invalid -d -v
record rping -c
record rping -s -c -a 127.0.0.1
record rping -s
record rping -sP
record rping -d -s -p 77 -S 100 -C 5 -v -V
record rping -d -S 20 -C 3 -q
record rping -d -C 3 -p 70000
record rping -c -a 127.0.0.1 -C 5 -v -d mlx5_21
record rping -d -c -a 127.0.0.1 -C5 -vV -- -x
record rping stray -s word
record ucmatose -h
record ucmatose --help
record ucmatose -x
record ucmatose -s
record ucmatose
record ucmatose stray
record ucmatose -s 127.0.0.1 -c 2 -C 3 -S 4 -t 0x20 -p 7471 -m -a 14
record ucmatose -f x -P y
record ucmatose -f IPv6 -P IB
record ucmatose -f GID -P Tcp
record cmtime -h
record cmtime --help
record cmtime -x
record cmtime -c
record cmtime
record cmtime stray
record cmtime -s 127.0.0.1 -b 127.0.0.2 -c 3 -p 7471 -r 1 -t 100
