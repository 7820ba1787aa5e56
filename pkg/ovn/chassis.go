// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

// Chassis is a row of the table Chassis of the Southbound database.
type Chassis struct {
	// Name is external_ids:system-id of its Open vSwitch, Hostname the name of the machine.
	Name, Hostname string
}
