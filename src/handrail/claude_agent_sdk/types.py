"""The types of the official `claude_agent_sdk.types`."""

from handrail.claude_agent_sdk.blocks import *
from handrail.claude_agent_sdk.context_usage import *
from handrail.claude_agent_sdk.control_types import *
from handrail.claude_agent_sdk.hooks import *
from handrail.claude_agent_sdk.mcp_configs import *
from handrail.claude_agent_sdk.messages import *
from handrail.claude_agent_sdk.options import *
from handrail.claude_agent_sdk.permissions import *
from handrail.claude_agent_sdk.session_store import *
from handrail.claude_agent_sdk.session_types import *
from handrail.claude_agent_sdk.system_init import *
