package ibsim

import (
	"fmt"
	"strconv"
)

// DefaultSocketName is the default first part of the abstract socket names of ibsim.
const DefaultSocketName = "sim"

// DefaultServerPort is the UDP port of the control socket of `ibsim -r`.
const DefaultServerPort = 7070

// Config selects the simulator to join and the node. The zero value joins the ibsim of this machine
// at a node that the server chooses.
type Config struct {
	Node       string // identifier in the net file, such as "host0"; SIM_HOST
	IsSM       bool   // receive unsolicited MADs, as a subnet manager does; SIM_SET_ISSM, set to anything
	SocketName string // first part of the abstract names; empty: DefaultSocketName; IBSIM_SOCKNAME
	Server     string // host name or IPv4 address of `ibsim -r`; empty: abstract names; IBSIM_SERVER_NAME
	ServerPort int    // UDP; 0: DefaultServerPort; IBSIM_SERVER_PORT
}

// Wanted reports whether the environment selects the simulator: SIM_HOST or IBSIM_SERVER_NAME is
// set.
func Wanted(getenv func(string) string) bool {
	return getenv("SIM_HOST") != "" || getenv("IBSIM_SERVER_NAME") != ""
}

// ConfigFromEnv reads the environment variables of umad2sim.
func ConfigFromEnv(getenv func(string) string) (Config, error) {
	c := Config{
		Node:       getenv("SIM_HOST"),
		IsSM:       getenv("SIM_SET_ISSM") != "",
		SocketName: getenv("IBSIM_SOCKNAME"),
		Server:     getenv("IBSIM_SERVER_NAME"),
	}
	if port := getenv("IBSIM_SERVER_PORT"); port != "" {
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535-maxClients-1 {
			return Config{}, fmt.Errorf("read IBSIM_SERVER_PORT %q: not a port with room for the clients' ports", port)
		}
		c.ServerPort = n
	}
	return c, nil
}

// maxClients is the maximum number of clients of an ibsim; their slots are 0 to 9.
const maxClients = 10

func (c Config) socketName() string {
	if c.SocketName == "" {
		return DefaultSocketName
	}
	return c.SocketName
}

func (c Config) serverPort() int {
	if c.ServerPort == 0 {
		return DefaultServerPort
	}
	return c.ServerPort
}

// String describes the simulator for errors.
func (c Config) String() string {
	if c.Server != "" {
		return fmt.Sprintf("ibsim at %s:%d", c.Server, c.serverPort())
	}
	return fmt.Sprintf("ibsim socket @%s", c.socketName())
}

// Limits of a node name and of the socket name, both in bytes: the server truncates longer ones.
const (
	maxNodeName   = clientInfoNodeN - 1
	maxSocketName = 90
)

func (c Config) validate() error {
	if len(c.Node) > maxNodeName {
		return fmt.Errorf("join %s: node name %q is longer than %d bytes", c, c.Node, maxNodeName)
	}
	if len(c.SocketName) > maxSocketName {
		return fmt.Errorf("join %s: socket name is longer than %d bytes", c, maxSocketName)
	}
	return nil
}
