// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnserver

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

// Installation is where the programs of OVN are, and the directory for the files of those that are started.
type Installation struct{ root, directory string }

// NewInstallation returns the one that Debian's packages installed, or were unpacked to.
func NewInstallation(directory string) Installation {
	return Installation{root: os.Getenv(RootVariable), directory: directory}
}

// Schema returns the file with the schema of a database: nb or sb.
func (i Installation) Schema(database string) string {
	return filepath.Join(i.root, "/usr/share/ovn/ovn-"+database+".ovsschema")
}

// Program returns where a program is installed.
func (i Installation) Program(name string) string {
	for _, directory := range []string{"/usr/bin", "/usr/sbin", "/usr/lib/openvswitch-switch", "/usr/local/bin", "/usr/local/sbin"} {
		path := filepath.Join(i.root, directory, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return name
}

// Environment returns the variables that the programs need.
func (i Installation) Environment() []string {
	variables := []string{"OVN_RUNDIR=" + i.directory, "OVS_RUNDIR=" + i.directory, "OVN_DBDIR=" + i.directory, "OVN_LOGDIR=" + i.directory,
		"OVS_LOGDIR=" + i.directory, "OVS_PKGDATADIR=" + filepath.Join(i.root, "/usr/share/openvswitch")}
	if i.root != "" {
		variables = append(variables, "LD_LIBRARY_PATH="+filepath.Join(i.root, "/usr/lib/x86_64-linux-gnu")+":"+filepath.Join(i.root, "/usr/lib"))
	}
	return variables
}

// Command returns a program in its environment.
func (i Installation) Command(ctx context.Context, name string, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, i.Program(name), arguments...)
	command.Env = append(os.Environ(), i.Environment()...)
	return command
}
