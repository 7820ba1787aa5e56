// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"groundskeeper.io/groundskeeper/test/fakes/midonet"
)

const (
	midonetName = "fake-midonet"
	// midonetUser is who Groundskeeper's controller managers log in as.
	midonetUser = "groundskeeper"
)

// MidoNetHosts returns the names of the hosts that the fake of MidoNet has from the start. A Node of such a name has a
// host in it.
func MidoNetHosts() []string { return []string{"node-a", "node-b", "node-c"} }

// MidoNetURL returns the root of the API of the fake of MidoNet.
func (p *Plane) MidoNetURL() string { return "http://" + address(p.ports[midonetName]) + midonet.Root }

// MidoNetPages returns the root of the pages on which the fake of MidoNet shows what it holds and takes hosts and
// faults. It ends in a slash.
func (p *Plane) MidoNetPages() string { return midonetPages(address(p.ports[midonetName])) }

func midonetPages(address string) string { return "http://" + address + "/_fake/" }

// MidoNetLogin returns who may log in to the fake of MidoNet, and the file of the password.
func (p *Plane) MidoNetLogin() (username, passwordFile string) {
	return midonetUser, filepath.Join(p.dir, "midonet-password")
}

// midonetCommand returns the fake of MidoNet. What it holds is in its memory and ends with it.
func (p *Plane) midonetCommand() (command, error) {
	username, passwordFile := p.MidoNetLogin()
	if err := ensurePassword(passwordFile); err != nil {
		return command{}, err
	}
	address := address(p.ports[midonetName])
	return command{
		name:    midonetName,
		binary:  p.binary(midonetName),
		args:    []string{"--address=" + address, "--username=" + username, "--password-file=" + passwordFile, "--hosts=" + strings.Join(MidoNetHosts(), ",")},
		inputs:  []string{passwordFile},
		address: address,
		health:  midonetPages(address),
	}, nil
}

// ensurePassword makes the file with a dedicated password, unless it is there.
func ensurePassword(path string) error {
	_, err := os.Stat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return writeFile(path, []byte(rand.Text()))
}

// midonetAddition leads a controller manager to the fake of MidoNet.
func (p *Plane) midonetAddition() addition {
	username, passwordFile := p.MidoNetLogin()
	return addition{
		option: "the fake of MidoNet", path: []string{"controllers", "translation", "midonet"},
		fields: map[string]any{"url": p.MidoNetURL(), "username": username, "passwordFile": passwordFile},
	}
}
