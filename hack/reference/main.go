// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Command reference writes docs/reference: the flags of Groundskeeper's binaries, as they print them, the fields of the
// configuration file and those of its kinds. It writes the same on every machine.
//
//	go run ./hack/reference _output/bin docs/reference
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/kube-openapi/pkg/validation/spec"

	generatedopenapi "groundskeeper.io/groundskeeper/pkg/generated/openapi"
)

// binaries returns those whose flags are written down.
func binaries() []string {
	return []string{
		"groundskeeper-apiserver", "groundskeeper-controller-manager", "groundskeeper-discoverer",
		"groundskeeper-local-volume-node-cleanup", "kubectl-groundskeeper",
	}
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: reference FOLDER-OF-BINARIES FOLDER-OF-PAGES")
		os.Exit(2)
	}
	if err := generate(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// generate writes all pages.
func generate(ctx context.Context, bin, out string) error {
	pages := map[string]string{}
	for _, name := range binaries() {
		command, err := readCommand(ctx, filepath.Join(bin, name))
		if err != nil {
			return err
		}
		pages[name+".md"] = commandPage(name, command)
	}
	root, err := repository()
	if err != nil {
		return err
	}
	config, err := configPage(filepath.Join(root, "pkg/apis/config/v1alpha1"))
	if err != nil {
		return err
	}
	pages["configuration.md"] = config
	definitions := generatedopenapi.GetOpenAPIDefinitions(spec.MustCreateRef)
	for _, k := range kinds() {
		if pages["api-"+k.group+".md"], err = kindPage(k, definitions); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for name, page := range pages {
		if err := os.WriteFile(filepath.Join(out, name), []byte(page), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// repository returns the root of the repository that the working directory lies in.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s lies in no clone of the repository", dir)
		}
		dir = filepath.Dir(dir)
	}
}
