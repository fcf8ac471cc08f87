"""Recognize passwords of programs that take them with an option of one letter."""

import re

# programs with an option of one letter for a password; for others, it is a port, a path, a level
_PROGRAMS = {
    "-p": r"(?:mysql\w*|mariadb[\w-]*|sshpass|mongo(?:sh|dump|restore)?|smbclient|clickhouse-client"
    r"|7z[ar]?|(?:docker|podman|helm)(?: registry)? login)",
    "-a": r"(?:redis|keydb|valkey)-cli",
    "-w": r"ldap(?:search|modify|add|delete|passwd|whoami)",
    "-P": r"(?:unzip|zip|sqlcmd|bcp)",
    "-k": r"openssl",
}
_PROGRAM_PASSWORDS = tuple(
    re.compile(rf"(\b{program}\b[^\n\"']{{0,200}}?\s{option} ?)(?!\*)([^\s\"',;|&)\]]+)")
    for option, program in _PROGRAMS.items()
)
_ANY_PROGRAM = re.compile(rf"\b(?:{'|'.join(_PROGRAMS.values())})\b")
_PASSWORD_PROGRAMS = {
    option: re.compile(
        rf"(?:.*/)?(?:{program}|docker|podman|helm)" if option == "-p" else rf"(?:.*/)?{program}"
    )
    for option, program in _PROGRAMS.items()
}
_NO_PASSWORD = re.compile(r"-.*|[\d.:/]+(?:tcp|udp)?")  # docker run -p 80:80


def mask_program_passwords(text: str, mask: str) -> str:
    """Mask passwords in command lines, such as `mysql -psecret` and `redis-cli -a secret`."""
    for pattern in _PROGRAM_PASSWORDS if _ANY_PROGRAM.search(text) else ():
        text = pattern.sub(rf"\1{mask}", text)
    return text


def password_option(word: str) -> str:
    """The option that takes a password if a word is a program with one, such as `-p`."""
    programs = _PASSWORD_PROGRAMS.items()
    return next((option for option, program in programs if program.fullmatch(word)), "")


def is_attached_password(word: str, option: str) -> bool:
    """Whether a word is the option of a program with its password attached: `-psecret`."""
    is_attached = bool(option) and word.startswith(option) and len(word) > len(option)
    return is_attached and not _NO_PASSWORD.fullmatch(word[len(option) :])


def is_program_password(option: str, value: str, password_option: str) -> bool:
    """Whether a value is a password because of its program's option."""
    return option == password_option and not _NO_PASSWORD.fullmatch(value)
