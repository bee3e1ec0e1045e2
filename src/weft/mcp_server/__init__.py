"""The MCP face: the operations as tools, trees and documents as resources, for models outside."""
