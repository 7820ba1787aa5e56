// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
)

// cgroupParents are the directories of containerd's cgroups: one for all controllers, or, in version 1, one for each.
var cgroupParents = []string{"/sys/fs/cgroup/k8s.io", "/sys/fs/cgroup/*/k8s.io"}

// removeCgroups removes the cgroups of the containers that containerd had on the disk. They are empty: the processes
// ended with the machine.
func removeCgroups(disk string) error {
	containers, err := filepath.Glob(filepath.Join(disk, "var/lib/containerd/io.containerd.grpc.v1.cri/*/*"))
	if err != nil || len(containers) == 0 {
		return err
	}
	var failures []error
	for _, pattern := range cgroupParents {
		parents, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, parent := range parents {
			for _, container := range containers {
				failures = append(failures, rmdir(filepath.Join(parent, filepath.Base(container))))
			}
			// It may have more entries of another containerd on this machine.
			if err := syscall.Rmdir(parent); err != nil && !errors.Is(err, syscall.EBUSY) && !errors.Is(err, syscall.ENOTEMPTY) {
				failures = append(failures, fmt.Errorf("remove the cgroup %s: %w", parent, err))
			}
		}
	}
	return errors.Join(failures...)
}

func rmdir(cgroup string) error {
	if err := syscall.Rmdir(cgroup); err != nil && !errors.Is(err, syscall.ENOENT) {
		return fmt.Errorf("remove the cgroup %s: %w", cgroup, err)
	}
	return nil
}
