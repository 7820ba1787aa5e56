// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"fmt"
	"slices"
	"strings"
)

// machines are the ELF machine types of the architectures that Go names.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// binary is a program with what its linker wrote down.
type binary struct {
	platform
	content []byte
	info    *buildinfo.BuildInfo
}

// readBinary fails unless the program was made by Go without cgo, and its header is of the platform that Go wrote down.
func readBinary(content []byte) (binary, error) {
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		return binary{}, err
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	b := binary{platform{settings["GOOS"], settings["GOARCH"]}, content, info}
	if settings["CGO_ENABLED"] != "0" || settings["-trimpath"] != "true" {
		return binary{}, fmt.Errorf("it was built with CGO_ENABLED=%s and -trimpath=%s", settings["CGO_ENABLED"], settings["-trimpath"])
	}
	if err := b.checkHeader(); err != nil {
		return binary{}, err
	}
	return b, nil
}

// checkHeader fails unless the header of the program is of the operating system and the machine type that Go wrote down. On
// macOS and Windows no program is static: the libraries of the system are their interface.
func (b binary) checkHeader() error {
	content := bytes.NewReader(b.content)
	switch b.OS {
	case "darwin":
		program, err := macho.NewFile(content)
		if err != nil {
			return err
		}
		if cpu := map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}; program.Cpu != cpu[b.Architecture] {
			return fmt.Errorf("its machine type is %s, and it is for %s", program.Cpu, b.Architecture)
		}
	case "windows":
		program, err := pe.NewFile(content)
		if err != nil {
			return err
		}
		if machine := map[string]uint16{"amd64": pe.IMAGE_FILE_MACHINE_AMD64, "arm64": pe.IMAGE_FILE_MACHINE_ARM64}; program.Machine != machine[b.Architecture] {
			return fmt.Errorf("its machine type is %#x, and it is for %s", program.Machine, b.Architecture)
		}
	default:
		program, err := elf.NewFile(content)
		if err != nil {
			return err
		}
		if machine, known := machines[b.Architecture]; !known || program.Machine != machine {
			return fmt.Errorf("its machine type is %s, and it is for %s", program.Machine, b.Architecture)
		}
		if slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
			return fmt.Errorf("it is not static")
		}
	}
	return nil
}

// modules returns what is linked in, the standard library last, under the name that scanners know it by.
func (b binary) modules() []module {
	var all []module
	for _, dependency := range b.info.Deps {
		if dependency.Replace != nil {
			dependency = dependency.Replace
		}
		all = append(all, module{dependency.Path, dependency.Version, dependency.Sum})
	}
	return append(all, module{path: "stdlib", version: strings.TrimPrefix(b.info.GoVersion, "go")})
}
