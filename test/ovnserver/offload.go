// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnserver

import (
	"syscall"
	"unsafe"
)

// DisableOffload has the kernel compute checksums: a datapath in user space gets packets as the interface sends them.
func DisableOffload(name string) error {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer func() { _ = syscall.Close(socket) }()
	const siocEthtool, setTransmitChecksum = 0x8946, 0x17
	value := struct{ command, data uint32 }{setTransmitChecksum, 0}
	request := struct {
		name [16]byte
		data unsafe.Pointer
		_    [16]byte
	}{data: unsafe.Pointer(&value)}
	copy(request.name[:], name)
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(socket), siocEthtool, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return errno
	}
	return nil
}
