"""Which tools there are: ours and anyone's, by name, from the entry points `weft.tools`."""

from functools import lru_cache
from typing import Any, TypeAlias, cast

from weft.knowledge.tools.base import Tool
from weft.plugins import Plugins

GROUP = "weft.tools"
AnyTool: TypeAlias = Tool[Any]


class ToolRegistry(Plugins[AnyTool]):
    """Tools by name."""

    __slots__ = ()

    GROUP = GROUP
    KIND = "tool"

    def with_tool(self, tool: AnyTool) -> "ToolRegistry":
        """A registry that has one more; this one stays as it is."""
        return self._with(tool.name, tool)

    def tool(self, name: str) -> AnyTool:
        """The tool of that name, loaded when it is first asked for."""
        return self._named(name)

    def _made(self, name: str, loaded: Any) -> AnyTool:
        if not isinstance(loaded, Tool) or cast("AnyTool", loaded).name != name:
            raise TypeError(f"it is not a tool {name!r}")
        return cast("AnyTool", loaded)


@lru_cache(maxsize=1)
def installed_tools() -> ToolRegistry:
    """Everything that installed packages offer. Found once: packages do not come and go while we run."""
    return ToolRegistry.installed()
