// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

import (
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"groundskeeper.io/groundskeeper/test/ovnserver"
)

// roleVariable has this program be one in a Pod instead of the tests.
const roleVariable = "GROUNDSKEEPER_OVN_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := act(role, os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	log.SetLogger(logr.Discard()) // it has the warnings of kube-apiserver
	os.Exit(m.Run())
}

// act serves a name on port 8080 and the address of the client on port 8081, or connects to an address and prints the name that it gets.
func act(role, argument string) error {
	if role == "serve" {
		return serve(argument)
	}
	if role == "datagram" {
		return datagram(argument)
	}
	connection, err := net.DialTimeout("tcp", argument, 3*time.Second)
	if err != nil {
		return err
	}
	name, err := io.ReadAll(connection)
	fmt.Fprintln(os.Stdout, string(name))
	return err
}

// datagram sends one to an address, from the same port each time, and prints the response.
func datagram(address string) error {
	dialer := net.Dialer{LocalAddr: &net.UDPAddr{Port: 40000}}
	connection, err := dialer.Dial("udp", address)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	if _, err := io.WriteString(connection, "who are you?"); err != nil {
		return err
	}
	if err := connection.SetReadDeadline(time.Now().Add(3 * time.Second)); err != nil {
		return err
	}
	response := make([]byte, 100)
	n, err := connection.Read(response)
	fmt.Fprintln(os.Stdout, string(response[:n]))
	return err
}

// respondToDatagrams responds with a text to each datagram to an address.
func respondToDatagrams(address, text string) error {
	connection, err := net.ListenPacket("udp", address)
	if err != nil {
		return err
	}
	for {
		_, from, err := connection.ReadFrom(make([]byte, 100))
		if err != nil {
			return err
		}
		_, _ = connection.WriteTo([]byte(text), from)
	}
}

func serve(name string) error {
	if err := ovnserver.DisableOffload("eth0"); err != nil {
		return err
	}
	failed := make(chan error)
	go func() {
		failed <- respond(":8081", func(client net.Addr) string {
			host, _, _ := net.SplitHostPort(client.String())
			return host
		})
	}()
	go func() { failed <- respond(":8080", func(net.Addr) string { return name }) }()
	go func() { failed <- respondToDatagrams(":8080", name) }()
	return <-failed
}

// respond writes to each client of an address a text about it.
func respond(address string, text func(client net.Addr) string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		_, _ = io.WriteString(connection, text(connection.RemoteAddr()))
		_ = connection.Close()
	}
}
