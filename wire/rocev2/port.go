package rocev2

// Port is the UDP destination port of RoCE v2.
const Port = 4791
