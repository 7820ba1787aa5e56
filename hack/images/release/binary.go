// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
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

// readBinary fails unless the program is static, made by Go without cgo, and the machine type in its header is that of the
// platform that Go wrote down.
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
	program, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return binary{}, err
	}
	if machine, known := machines[b.Architecture]; !known || program.Machine != machine {
		return binary{}, fmt.Errorf("its machine type is %s, and it is for %s", program.Machine, b.Architecture)
	}
	if slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return binary{}, fmt.Errorf("it is not static")
	}
	return b, nil
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
