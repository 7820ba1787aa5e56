// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/test/fakes/midonet"
)

const (
	midonetName = "fake-midonet"
	// midonetUser is who our controller managers log in as.
	midonetUser = "groundskeeper"
	// configVersion is the apiVersion of the controller manager's configuration.
	configVersion = v1alpha1.GroupName + "/v1alpha1"
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

// midonetCommand is the fake of MidoNet. What it holds is in its memory and ends with it.
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

// ensurePassword makes the file with a password of its own, unless it is there.
func ensurePassword(path string) error {
	_, err := os.Stat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return writeFile(path, []byte(rand.Text()))
}

// managerConfig returns the file of the controller managers' configuration, empty for none: that of the options, or a
// copy of it that leads to the fake of MidoNet.
func (p *Plane) managerConfig() (string, error) {
	if !p.options.MidoNet {
		return p.options.ManagerConfig, nil
	}
	given := []byte("apiVersion: " + configVersion + "\nkind: " + v1alpha1.ControllerManagerConfigurationKind + "\n")
	if p.options.ManagerConfig != "" {
		var err error
		if given, err = os.ReadFile(p.options.ManagerConfig); err != nil {
			return "", err
		}
	}
	username, passwordFile := p.MidoNetLogin()
	config, err := withMidoNet(given, map[string]any{"url": p.MidoNetURL(), "username": username, "passwordFile": passwordFile})
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.options.ManagerConfig, err)
	}
	path := filepath.Join(p.dir, "manager-config.yaml")
	return path, writeFile(path, config)
}

// withMidoNet returns the configuration with these fields of controllers.translation.midonet, which it must not have
// itself. Whether the rest of it makes sense is for the controller manager to say.
func withMidoNet(config []byte, fields map[string]any) ([]byte, error) {
	data, err := yaml.YAMLToJSONStrict(config)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &object); err != nil {
		return nil, err
	}
	if apiVersion, kind := object["apiVersion"], object["kind"]; apiVersion != configVersion || kind != v1alpha1.ControllerManagerConfigurationKind {
		return nil, fmt.Errorf("it is of apiVersion %v, kind %v: the fake of MidoNet needs %s, %s", apiVersion, kind, configVersion, v1alpha1.ControllerManagerConfigurationKind)
	}
	for name, value := range fields {
		field := []string{"controllers", "translation", "midonet", name}
		if _, found, _ := unstructured.NestedFieldNoCopy(object, field...); found {
			return nil, fmt.Errorf("%s is set: remove it, or start without the fake of MidoNet, which sets it", strings.Join(field, "."))
		}
		if err := unstructured.SetNestedField(object, value, field...); err != nil {
			return nil, err
		}
	}
	return yaml.Marshal(object)
}
