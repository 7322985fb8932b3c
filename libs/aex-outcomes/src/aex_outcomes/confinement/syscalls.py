"""Numbers of the system calls that a confined worker is refused, for the two processors that services run on.

From the kernel's `asm/unistd_64.h` (x86_64) and `asm-generic/unistd.h` (aarch64): they are the ABI and never change.
"""


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NETWORK = _names("socket connect bind listen accept accept4")
"""Anything that could reach a network or another process by a socket. `socketpair` is left: event loops need it."""

CHILDREN = _names("fork vfork execve execveat")
"""Starting processes. Threads (`clone` with CLONE_THREAD) are left."""

OTHERS = _names(
    "ptrace process_vm_readv process_vm_writev tkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_open pidfd_getfd "
    "pidfd_send_signal kcmp process_madvise sched_setaffinity sched_setscheduler sched_setparam sched_setattr "
    "setpriority ioprio_set migrate_pages move_pages"
)
"""Reaching into other processes of the same user: the service itself, and its other workers."""

FILES = _names(
    "creat truncate ftruncate fallocate rename renameat renameat2 mkdir mkdirat rmdir unlink unlinkat link "
    "linkat symlink symlinkat mknod mknodat chmod fchmod fchmodat chown fchown lchown fchownat "
    "utime utimes futimesat utimensat setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr "
    "memfd_create memfd_secret"
)
"""Changing files, and memory that is counted as a file instead of against the worker."""

KERNEL = _names(
    "io_uring_setup io_uring_enter io_uring_register bpf perf_event_open userfaultfd keyctl add_key "
    "request_key unshare setns mount umount2 move_mount open_tree fsopen pivot_root chroot init_module "
    "finit_module kexec_load reboot open_by_handle_at personality modify_ldt shmget msgget semget mq_open "
    "setrlimit"
)
"""Parts of the kernel that no metric needs; io_uring would go round this very filter."""

NEWEST = 451
"""Calls with higher numbers are younger than this list, the same on all processors, and answered with ENOSYS: the C
library then takes the older way."""


def _table(text: str) -> dict[str, int]:
    return {name: int(number) for name, number in (item.split(":") for item in text.split())}


X86_64 = _table(
    "socket:41 connect:42 bind:49 listen:50 accept:43 accept4:288 fork:57 vfork:58 execve:59 execveat:322 "
    "ptrace:101 process_vm_readv:310 process_vm_writev:311 tkill:200 rt_sigqueueinfo:129 rt_tgsigqueueinfo:297 "
    "pidfd_open:434 pidfd_getfd:438 pidfd_send_signal:424 kcmp:312 process_madvise:440 sched_setaffinity:203 "
    "sched_setscheduler:144 sched_setparam:142 sched_setattr:314 setpriority:141 ioprio_set:251 migrate_pages:256 "
    "move_pages:279 creat:85 truncate:76 ftruncate:77 fallocate:285 rename:82 renameat:264 renameat2:316 mkdir:83 "
    "mkdirat:258 rmdir:84 unlink:87 unlinkat:263 link:86 linkat:265 symlink:88 symlinkat:266 mknod:133 "
    "mknodat:259 chmod:90 fchmod:91 fchmodat:268 chown:92 fchown:93 lchown:94 fchownat:260 "
    "utime:132 utimes:235 futimesat:261 utimensat:280 setxattr:188 lsetxattr:189 fsetxattr:190 removexattr:197 "
    "lremovexattr:198 fremovexattr:199 memfd_create:319 memfd_secret:447 io_uring_setup:425 io_uring_enter:426 "
    "io_uring_register:427 bpf:321 perf_event_open:298 userfaultfd:323 keyctl:250 add_key:248 request_key:249 "
    "unshare:272 setns:308 mount:165 umount2:166 move_mount:429 open_tree:428 fsopen:430 pivot_root:155 "
    "chroot:161 init_module:175 finit_module:313 kexec_load:246 reboot:169 open_by_handle_at:304 personality:135 "
    "modify_ldt:154 shmget:29 msgget:68 semget:64 mq_open:240 setrlimit:160 clone:56 clone3:435 open:2 openat:257 "
    "openat2:437 kill:62 tgkill:234 prlimit64:302 prctl:157"
)
AARCH64 = _table(
    "socket:198 connect:203 bind:200 listen:201 accept:202 accept4:242 execve:221 execveat:281 ptrace:117 "
    "process_vm_readv:270 process_vm_writev:271 tkill:130 rt_sigqueueinfo:138 rt_tgsigqueueinfo:240 "
    "pidfd_open:434 pidfd_getfd:438 pidfd_send_signal:424 kcmp:272 process_madvise:440 sched_setaffinity:122 "
    "sched_setscheduler:119 sched_setparam:118 sched_setattr:274 setpriority:140 ioprio_set:30 migrate_pages:238 "
    "move_pages:239 truncate:45 ftruncate:46 fallocate:47 renameat:38 renameat2:276 mkdirat:34 unlinkat:35 "
    "linkat:37 symlinkat:36 mknodat:33 fchmod:52 fchmodat:53 fchown:55 fchownat:54 utimensat:88 setxattr:5 "
    "lsetxattr:6 fsetxattr:7 removexattr:14 lremovexattr:15 fremovexattr:16 memfd_create:279 memfd_secret:447 "
    "io_uring_setup:425 io_uring_enter:426 io_uring_register:427 bpf:280 perf_event_open:241 userfaultfd:282 "
    "keyctl:219 add_key:217 request_key:218 unshare:97 setns:268 mount:40 umount2:39 move_mount:429 open_tree:428 "
    "fsopen:430 pivot_root:41 chroot:51 init_module:105 finit_module:273 kexec_load:104 reboot:142 "
    "open_by_handle_at:265 personality:92 shmget:194 msgget:186 semget:190 mq_open:180 setrlimit:164 clone:220 "
    "clone3:435 openat:56 openat2:437 kill:129 tgkill:131 prlimit64:261 prctl:167"
)
