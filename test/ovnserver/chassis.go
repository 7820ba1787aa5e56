// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Chassis is a node: a network namespace with ovs-vswitchd, whose datapath is in user space, and ovn-controller.
type Chassis struct {
	server    *Server
	directory string
	namespace *exec.Cmd
	// controller is ovn-controller.
	controller *exec.Cmd
	servers    map[string]int
}

// PIDs returns the process ids of the servers of the chassis, and of what keeps its namespace.
func (c *Chassis) PIDs() map[string]int { return c.servers }

// Memory returns the resident memory of ovn-controller in MiB.
func (c *Chassis) Memory(t testing.TB) float64 {
	t.Helper()
	return resident(t, c.controller)
}

// ChassisPermitted returns why chassis cannot run here, nil if they can.
func ChassisPermitted(ctx context.Context) error {
	if err := exec.CommandContext(ctx, "unshare", "--net", "true").Run(); err != nil || os.Geteuid() != 0 {
		return errors.New("network namespaces need root")
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		return errors.New("the datapath in user space needs /dev/net/tun")
	}
	return nil
}

// StartChassis runs chassis with the given hostnames, whose namespaces are connected. It skips the test without permission for that.
func (s *Server) StartChassis(t testing.TB, hostnames [2]string) [2]*Chassis {
	t.Helper()
	if err := ChassisPermitted(t.Context()); err != nil {
		t.Skip(err)
	}
	var all [2]*Chassis
	for i, hostname := range hostnames {
		all[i] = &Chassis{server: s, directory: s.path(hostname), namespace: namespace(t)}
	}
	all[0].ip(t, "link", "add", "underlay", "type", "veth", "peer", "name", "underlay", "netns", strconv.Itoa(all[1].namespace.Process.Pid))
	for i, c := range all {
		c.start(t, hostnames[i], fmt.Sprintf("172.31.0.%d", i+1))
	}
	return all
}

// namespace returns a network namespace that exists until the test ends.
func namespace(t testing.TB) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(context.Background(), "unshare", "--net", "sh", "-c", "echo up; exec sleep infinity")
	tie(t, command)
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	if _, err := output.Read(make([]byte, 2)); err != nil {
		t.Fatal(err)
	}
	return command
}

// start runs the servers of the chassis, whose tunnels end at an address.
func (c *Chassis) start(t testing.TB, hostname, address string) {
	t.Helper()
	if err := os.Mkdir(c.directory, 0o700); err != nil {
		t.Fatal(err)
	}
	s := c.server
	s.run(t, "ovsdb-tool", "create", c.path("conf.db"), filepath.Join(s.root, "/usr/share/openvswitch/vswitch.ovsschema"))
	database := s.start(t, "ovsdb-server", c.path("conf.db"), "--remote=punix:"+c.path("db.sock"), "--unixctl="+c.path("db.ctl"), "--log-file="+c.path("db.log"))
	waitFor(t, c.path("db.sock"))
	c.vsctl(t, "--no-wait", "init")
	vswitchd := c.background(t, "ovs-vswitchd", "unix:"+c.path("db.sock"), "--disable-system", "--unixctl="+c.path("vswitchd.ctl"), "--log-file="+c.path("vswitchd.log"))
	c.ip(t, "link", "set", "lo", "up")
	c.ip(t, "link", "set", "underlay", "up")
	c.vsctl(t, "add-br", "br-underlay", "--", "set", "bridge", "br-underlay", "datapath_type=netdev", "--", "add-port", "br-underlay", "underlay")
	c.ip(t, "address", "add", address+"/24", "dev", "br-underlay")
	c.ip(t, "link", "set", "br-underlay", "up")
	c.vsctl(t, "set", "open", ".", "external-ids:system-id=chassis-of-"+hostname, "external-ids:hostname="+hostname, "external-ids:ovn-remote="+s.remote("sb"),
		"external-ids:ovn-encap-type=geneve", "external-ids:ovn-encap-ip="+address, "external-ids:ovn-bridge-datapath-type=netdev",
		"--", "add-br", "br-int", "--", "set", "bridge", "br-int", "datapath_type=netdev", "fail-mode=secure")
	c.controller = c.background(t, "ovn-controller", "unix:"+c.path("db.sock"), "--log-file="+c.path("ovn-controller.log"))
	c.servers = map[string]int{"namespace": c.namespace.Process.Pid, "ovsdb-server": database.Process.Pid, "ovs-vswitchd": vswitchd.Process.Pid, "ovn-controller": c.controller.Process.Pid}
}

// Log returns what ovn-controller has logged.
func (c *Chassis) Log(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(c.path("ovn-controller.log"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Path is the file of the namespace of the chassis.
func (c *Chassis) Path() string { return pathOf(c.namespace) }

func (c *Chassis) path(name string) string { return filepath.Join(c.directory, name) }

// background runs a server in the namespace.
func (c *Chassis) background(t testing.TB, name string, arguments ...string) *exec.Cmd {
	t.Helper()
	command := c.server.Command(context.Background(), name, arguments...)
	command.Args = append([]string{"nsenter", "-t", strconv.Itoa(c.namespace.Process.Pid), "-n", command.Path}, arguments...)
	command.Path, command.Err = nsenter(t), nil
	command.Env = append(command.Env, "OVS_RUNDIR="+c.directory, "OVN_RUNDIR="+c.directory, "OVS_SYSCONFDIR="+c.directory)
	tie(t, command)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return command
}

func nsenter(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("nsenter")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Command returns a program in the namespace of the chassis that finds the programs of Open vSwitch.
func (c *Chassis) Command(ctx context.Context, t testing.TB, name string, arguments ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(ctx, nsenter(t), append([]string{"-t", strconv.Itoa(c.namespace.Process.Pid), "-n", name}, arguments...)...)
	command.Env = slices.Concat(c.server.Command(ctx, name).Env, []string{"PATH=" + filepath.Join(c.server.root, "/usr/bin") + ":" + os.Getenv("PATH")})
	return command
}

// Database is the endpoint of the database of the chassis' Open vSwitch.
func (c *Chassis) Database() string { return "unix:" + c.path("db.sock") }

func (c *Chassis) vsctl(t testing.TB, arguments ...string) {
	t.Helper()
	c.server.run(t, "ovs-vsctl", append([]string{"--db=unix:" + c.path("db.sock"), "--timeout=30"}, arguments...)...)
}

func (c *Chassis) ip(t testing.TB, arguments ...string) {
	t.Helper()
	ipIn(t, c.namespace, arguments...)
}

// ipIn runs ip in a namespace.
func ipIn(t testing.TB, namespace *exec.Cmd, arguments ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), nsenter(t), append([]string{"-t", strconv.Itoa(namespace.Process.Pid), "-n", "ip"}, arguments...)...)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", strings.Join(arguments, " "), err, output)
	}
}

// waitFor waits until a server accepts connections. Its socket exists a moment before.
func waitFor(t testing.TB, path string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "unix", path)
		if err == nil {
			_ = connection.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// Interface is what connects a separate namespace to a logical port.
type Interface struct {
	namespace *exec.Cmd
	// chassis is the one that the interface is connected to under a name, nil for a namespace without an interface.
	chassis *Chassis
	name    string
	// programs are those that run behind it.
	programs []*exec.Cmd
}

// Start runs a program behind the interface until that is disconnected, or the test ends.
func (i *Interface) Start(t testing.TB, name string, arguments ...string) {
	t.Helper()
	command := i.Command(context.Background(), t, name, arguments...)
	tie(t, command)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	i.programs = append(i.programs, command)
	t.Cleanup(func() { end(command) })
}

func end(command *exec.Cmd) {
	_ = command.Process.Kill()
	_ = command.Wait()
}

// Connect makes an interface with a MAC address and networks, and connects it to the logical port with the given name. Packets to
// other networks go to the gateways.
func (c *Chassis) Connect(t testing.TB, port, mac string, networks, gateways []string) *Interface {
	t.Helper()
	return c.connect(t, mac, networks, gateways, "br-int", "external_ids:iface-id="+port)
}

// Outside makes a physical network that the chassis is connected to, and an interface on it with a MAC address and networks. Packets to
// other networks go to the gateways.
func (c *Chassis) Outside(t testing.TB, network, mac string, networks, gateways []string) *Interface {
	t.Helper()
	bridge := "br-" + network
	c.vsctl(t, "add-br", bridge, "--", "set", "bridge", bridge, "datapath_type=netdev",
		"--", "set", "open", ".", "external-ids:ovn-bridge-mappings="+network+":"+bridge)
	c.ip(t, "link", "set", bridge, "up")
	return c.connect(t, mac, networks, gateways, bridge)
}

// ConnectSelf connects the chassis itself to the logical port with the given name: it has an interface with a MAC address and a network.
// Packets to the other networks go to the gateway.
func (c *Chassis) ConnectSelf(t testing.TB, port, mac, network, gateway string, others ...string) {
	t.Helper()
	const name = "ovn-k8s0"
	c.vsctl(t, "add-port", "br-int", name, "--", "set", "Interface", name, "type=internal", `mac="`+mac+`"`, "external_ids:iface-id="+port)
	c.ip(t, "link", "set", name, "mtu", tunneled, "up")
	c.ip(t, "address", "add", network, "dev", name)
	for _, other := range others {
		c.ip(t, "route", "add", other, "via", gateway)
	}
}

// tunneled is the MTU of interfaces whose packets a tunnel transports.
const tunneled = "1400"

// connect makes an interface and connects it to a bridge, where it has the given settings.
func (c *Chassis) connect(t testing.TB, mac string, networks, gateways []string, bridge string, settings ...string) *Interface {
	t.Helper()
	i := &Interface{namespace: namespace(t), chassis: c}
	pid := strconv.Itoa(i.namespace.Process.Pid)
	name := "p" + pid // at most 15 characters
	i.name = name
	c.ip(t, "link", "add", name, "mtu", tunneled, "type", "veth", "peer", "name", "eth0", "mtu", tunneled, "netns", pid)
	c.ip(t, "link", "set", name, "up")
	ipIn(t, i.namespace, "link", "set", "lo", "up")
	ipIn(t, i.namespace, "link", "set", "eth0", "address", mac, "up")
	for _, network := range networks {
		arguments := []string{"address", "add", network, "dev", "eth0"}
		if strings.Contains(network, ":") {
			arguments = append(arguments, "nodad")
		}
		ipIn(t, i.namespace, arguments...)
	}
	for _, gateway := range gateways {
		family := "-4"
		if strings.Contains(gateway, ":") {
			family = "-6"
		}
		ipIn(t, i.namespace, family, "route", "add", "default", "via", gateway)
	}
	arguments := []string{"add-port", bridge, name}
	if len(settings) > 0 {
		arguments = append(append(arguments, "--", "set", "Interface", name), settings...)
	}
	c.vsctl(t, arguments...)
	return i
}

// Namespace returns a namespace without an interface, which another program makes.
func Namespace(t testing.TB) *Interface {
	t.Helper()
	return &Interface{namespace: namespace(t)}
}

// Disconnect ends the programs behind the interface, and removes it and its namespace.
func (i *Interface) Disconnect(t testing.TB) {
	t.Helper()
	i.chassis.vsctl(t, "--if-exists", "del-port", i.name)
	for _, command := range append(i.programs, i.namespace) {
		end(command)
	}
}

// Path is the file of the namespace.
func (i *Interface) Path() string { return pathOf(i.namespace) }

func pathOf(namespace *exec.Cmd) string { return fmt.Sprintf("/proc/%d/ns/net", namespace.Process.Pid) }

// Command returns a program behind the interface.
func (i *Interface) Command(ctx context.Context, t testing.TB, name string, arguments ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(ctx, nsenter(t), append([]string{"-t", strconv.Itoa(i.namespace.Process.Pid), "-n", name}, arguments...)...)
}
