// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
)

// Program is a program that runs beside the processes of a plane, such as a discoverer or a fake of a cloud.
type Program struct {
	// Name is its name in messages, in the state and of its log.
	Name string
	// Binary is its file in the directory of the binaries.
	Binary string
	Args   []string
	// Inputs are the files that it reads at its start.
	Inputs []string
	// Address is where it serves, as host:port, and Health the path that responds 200 when it does its work.
	Address, Health string
}

// Run makes a program run beside the plane, and returns when it is ready. Plane.Stop ends it, before the processes that it was started
// after.
func (p *Plane) Run(ctx context.Context, program Program) (*Process, error) {
	return p.run(ctx, func() (command, error) {
		return command{
			name:    program.Name,
			binary:  p.binary(program.Binary),
			args:    program.Args,
			env:     []string{"KUBERNETES_SERVICE_HOST=", "KUBERNETES_SERVICE_PORT="}, // it is not a Pod, even where this process runs in one
			inputs:  program.Inputs,
			address: program.Address,
			health:  "http://" + program.Address + program.Health,
		}, nil
	})
}
