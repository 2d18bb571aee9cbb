//go:build cgo

package driver

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// override is the environment variable that replaces the search for libraries.
const override = "PRETEXT_CUDA_LIBS"

// A wanted describes a library to search: its file names, the preferred one first,
// and directories (glob patterns) to search after the path of the dynamic loader.
type wanted struct {
	name  string
	files []string
	dirs  []string
	cure  string // what the user can do if the library is not found
}

func wantedDriver() wanted {
	return wanted{
		name:  "NVIDIA's driver",
		files: []string{"libcuda.so.1"},
		dirs:  []string{"/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/lib/wsl/lib", "/run/opengl-driver/lib"},
		cure:  "install NVIDIA's driver, 530 or newer",
	}
}

// wantedBLAS describes cuBLASLt, in the versions that a driver supports. major is
// the newest major CUDA version of the driver.
func wantedBLAS(major int) wanted {
	w := wanted{name: "cuBLASLt", dirs: append(toolkitDirs(), pythonDirs()...)}
	for _, v := range []int{13, 12, 11} {
		if v <= major {
			w.files = append(w.files, "libcublasLt.so."+strconv.Itoa(v))
		}
	}
	pkg := "nvidia-cublas-cu12"
	if major >= 13 {
		pkg = "nvidia-cublas"
	}
	w.cure = "install the CUDA toolkit, or pip install " + pkg
	return w
}

// wantedNCCL describes NCCL.
func wantedNCCL() wanted {
	return wanted{
		name: "NCCL", files: []string{"libnccl.so.2"}, dirs: append(toolkitDirs(), pythonDirs()...),
		cure: "install NCCL, or pip install nvidia-nccl-cu12",
	}
}

func toolkitDirs() []string {
	var dirs []string
	for _, variable := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if home := os.Getenv(variable); home != "" {
			dirs = append(dirs, filepath.Join(home, "lib64"))
		}
	}
	if prefix := os.Getenv("CONDA_PREFIX"); prefix != "" {
		dirs = append(dirs, filepath.Join(prefix, "lib"))
	}
	return append(dirs, "/usr/local/cuda/lib64", "/usr/local/cuda-*/lib64")
}

// pythonDirs returns the directories (glob patterns) where NVIDIA's Python packages
// put libraries: in the active virtual environment, with the python3 in PATH, and
// in the user's ~/.local. It does not run Python.
func pythonDirs() []string {
	var prefixes []string
	if venv := os.Getenv("VIRTUAL_ENV"); venv != "" {
		prefixes = append(prefixes, venv)
	}
	if python, err := exec.LookPath("python3"); err == nil {
		prefixes = append(prefixes, filepath.Dir(filepath.Dir(python)))
		if real, err := filepath.EvalSymlinks(python); err == nil {
			prefixes = append(prefixes, filepath.Dir(filepath.Dir(real)))
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		prefixes = append(prefixes, filepath.Join(home, ".local"))
	}
	var dirs []string
	for _, prefix := range prefixes {
		for _, packages := range []string{"site-packages", "dist-packages"} {
			dirs = append(dirs, filepath.Join(prefix, "lib/python3*", packages, "nvidia/*/lib"))
		}
	}
	return dirs
}

// candidates returns the arguments for dlopen, in the order to try. If
// PRETEXT_CUDA_LIBS is set, they are the existing files in its directories.
// Otherwise they are, for each file name, the name itself, which dlopen searches,
// and the existing files in w.dirs.
func (w wanted) candidates() []string {
	only := os.Getenv(override)
	dirs := w.dirs
	if only != "" {
		dirs = strings.Split(only, ":")
	}
	var all []string
	for _, file := range w.files {
		if only == "" {
			all = append(all, file)
		}
		for _, dir := range dirs {
			found := []string{filepath.Join(dir, file)}
			if only == "" {
				found, _ = filepath.Glob(filepath.Join(dir, file)) // the patterns are well formed
			} else if _, err := os.Stat(found[0]); err != nil {
				continue
			}
			for _, f := range found {
				if !slices.Contains(all, f) {
					all = append(all, f)
				}
			}
		}
	}
	return all
}

// place returns where Open looked for the library, for an error message.
func (w wanted) place() string {
	if only := os.Getenv(override); only != "" {
		return "in the directories of " + override + " (" + only + ")"
	}
	return "on the loader's path and in the usual directories"
}
